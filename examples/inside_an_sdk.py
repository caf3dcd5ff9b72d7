"""Keep the vendor's SDK, and take only the plan from pondero.

    pip install anthropic openai
    python examples/inside_an_sdk.py "Is 3,599 prime?" --level high
    pondero emulate --port 9100 &
    export ANTHROPIC_BASE_URL=http://127.0.0.1:9100 ANTHROPIC_API_KEY=any
    export OPENAI_BASE_URL=http://127.0.0.1:9100/v1 OPENAI_API_KEY=any
    python examples/inside_an_sdk.py "What is 17 * 23?"                (no key, no network)

The same level goes to a model with token budgets, to one with effort levels and to another vendor.
"""

import argparse

import anthropic
import openai

import pondero


def ask_claude(model: str, level: str, prompt: str) -> str:
    plan = pondero.plan(model, level, max_tokens=16_000)
    # The fields are those of the Messages API: thinking, output_config, max_tokens ...
    message = anthropic.Anthropic().messages.create(
        model=model, messages=[{"role": "user", "content": prompt}], **plan.fields
    )
    return "".join(block.text for block in message.content if block.type == "text")


def ask_gpt(model: str, level: str, prompt: str) -> str:
    plan = pondero.plan(model, level)
    response = openai.OpenAI().responses.create(model=model, input=prompt, extra_body=plan.fields)
    return response.output_text


ASK = {"claude-haiku-4-5": ask_claude, "claude-opus-5": ask_claude, "gpt-5.5": ask_gpt}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="One level, two SDKs, three models.")
    parser.add_argument("prompt")
    parser.add_argument("--level", default="low")
    chosen = parser.parse_args(arguments)
    for model, ask in ASK.items():
        print(f"{model}: {ask(model, chosen.level, chosen.prompt)}")
        for adjustment in pondero.plan(model, chosen.level).adjustments:
            print(f"  note: {adjustment.why}")


if __name__ == "__main__":
    main()
