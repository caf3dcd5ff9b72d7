"""examples/inside_an_sdk.py with anthropic and openai alone: the rules of each model by hand.

The table holds what these three models take today. A fourth model is another row, or another rule.
"""

import argparse
from typing import Any

import anthropic
import openai

BUDGETS = {"low": 4_000, "medium": 8_000, "high": 12_000}  # of claude-haiku-4-5, below max_tokens


def ask_claude(model: str, level: str, prompt: str) -> str:
    fields: dict[str, Any] = {}
    if model == "claude-haiku-4-5":  # token budgets, and no field for off
        if level != "off":
            fields["thinking"] = {"type": "enabled", "budget_tokens": BUDGETS[level]}
    elif level == "off":
        fields["thinking"] = {"type": "disabled"}
    else:
        fields["thinking"] = {"type": "adaptive"}
        fields["output_config"] = {"effort": level}
    message = anthropic.Anthropic().messages.create(
        model=model,
        max_tokens=16_000,
        messages=[{"role": "user", "content": prompt}],
        **fields,
    )
    return "".join(block.text for block in message.content if block.type == "text")


def ask_gpt(model: str, level: str, prompt: str) -> str:
    effort = "none" if level == "off" else level
    response = openai.OpenAI().responses.create(
        model=model, input=prompt, reasoning={"effort": effort}
    )
    return response.output_text


ASK = {"claude-haiku-4-5": ask_claude, "claude-opus-5": ask_claude, "gpt-5.5": ask_gpt}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="One level, two SDKs, three models.")
    parser.add_argument("prompt")
    parser.add_argument("--level", default="low", choices=["off", "low", "medium", "high"])
    chosen = parser.parse_args(arguments)
    for model, ask in ASK.items():
        print(f"{model}: {ask(model, chosen.level, chosen.prompt)}")


if __name__ == "__main__":
    main()
