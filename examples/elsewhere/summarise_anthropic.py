"""examples/summarise.py with the anthropic SDK; it asks Claude models alone."""

import argparse
import sys
from pathlib import Path

import anthropic

PROMPT = "Summarise this text in three sentences:\n\n"


def summarise(
    client: anthropic.Anthropic, model: str, effort: str, text: str
) -> anthropic.types.Message:
    with client.messages.stream(
        model=model,
        max_tokens=32_000,
        thinking={"type": "adaptive", "display": "summarized"},
        output_config={"effort": effort},
        messages=[{"role": "user", "content": PROMPT + text}],
    ) as stream:
        for event in stream:
            if event.type == "thinking":
                print(event.thinking, end="", file=sys.stderr, flush=True)
            elif event.type == "text":
                print(event.text, end="", flush=True)
    print()
    return stream.get_final_message()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Summarise a text and show the thinking.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="claude-opus-5")
    parser.add_argument("--effort", default="medium")
    chosen = parser.parse_args(arguments)
    text = chosen.file.read_text("utf-8")
    message = summarise(anthropic.Anthropic(), chosen.model, chosen.effort, text)
    details = message.usage.output_tokens_details
    print(f"\n{details.thinking_tokens if details else None} tokens of thinking", file=sys.stderr)


if __name__ == "__main__":
    main()
