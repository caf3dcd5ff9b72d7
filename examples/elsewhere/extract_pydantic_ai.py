"""examples/extract.py with pydantic-ai."""

import argparse
import sys
from pathlib import Path
from typing import Literal

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.exceptions import UnexpectedModelBehavior


class Line(BaseModel):
    article: str
    count: int
    price: float


class Invoice(BaseModel):
    number: str
    currency: Literal["EUR", "USD", "CHF"]
    lines: list[Line]
    paid: bool | None = None


def extract(model: str, text: str) -> Invoice:
    agent = Agent(model, output_type=Invoice, retries=2, model_settings={"thinking": "low"})
    return agent.run_sync(f"Extract the invoice from this text:\n\n{text}").output


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Extract an invoice as JSON.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="openai-responses:gpt-5.5")
    chosen = parser.parse_args(arguments)
    try:
        invoice = extract(chosen.model, chosen.file.read_text("utf-8"))
    except UnexpectedModelBehavior as error:
        print(f"no invoice found: {error}", file=sys.stderr)
        return 1
    print(invoice.model_dump_json(indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
