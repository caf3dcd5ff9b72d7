"""Extract typed values from texts, and ask again if a value does not fit.

python examples/extract.py examples/invoice.txt --offline
python examples/extract.py examples/invoice.txt --model gpt-5.5/low
"""

import argparse
import sys
from dataclasses import asdict, dataclass
from json import dumps
from pathlib import Path
from typing import Literal

import pondero
from pondero.emulator import Emulator


@dataclass
class Line:
    article: str
    count: int
    price: float


@dataclass
class Invoice:
    number: str
    currency: Literal["EUR", "USD", "CHF"]
    lines: list[Line]
    paid: bool | None = None


def extract(client: pondero.Client, model: str, text: str) -> Invoice:
    """Return the invoice; after three answers that do not fit, raise what is wrong with them."""
    prompt = f"Extract the invoice from this text:\n\n{text}"
    return client.ask(model, prompt, output=Invoice, retries=2).value


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Extract an invoice as JSON.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="gpt-5.5/low")
    parser.add_argument("--offline", action="store_true", help="ask the emulator")
    chosen = parser.parse_args(arguments)
    with pondero.Client(transport=Emulator() if chosen.offline else None) as client:
        try:
            invoice = extract(client, chosen.model, chosen.file.read_text("utf-8"))
        except pondero.WireError as error:
            print(f"no invoice found: {error}", file=sys.stderr)
            return 1
    print(dumps(asdict(invoice), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
