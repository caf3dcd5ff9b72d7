"""An agent with functions, an MCP server, and a person who approves what changes something.

pip install '.[mcp]'
python examples/agent.py
python examples/agent.py --offline --yes "Use the add_note tool to note: buy milk."
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pondero
from pondero.emulator import Emulator

NOTES_SERVER = {
    "command": sys.executable,
    "args": [str(Path(__file__).with_name("notes_server.py"))],
}
READ_ONLY = {"count_words", "list_notes"}


def count_words(text: str) -> int:
    """Count the words of a text.

    Args:
        text: any text
    """
    return len(text.split())


def ask_person(name: str, arguments: dict[str, object]) -> bool | str:
    """Let tools that only read run; ask a person about the others."""
    if name in READ_ONLY:
        return "always"
    answer = input(f"May {name} run with {json.dumps(arguments)}? [y/N/always] ").strip().lower()
    return "always" if answer == "always" else answer == "y"


def make_agent(
    client: pondero.Client, model: str, approve: Callable[[str, dict[str, object]], bool | str]
) -> pondero.Chat:
    """Return a chat with a function and the tools of the notes server."""
    return pondero.Chat(
        model,
        system="You keep the user's notes. Use the tools; never invent a note.",
        tools=[count_words],
        mcp=[NOTES_SERVER],
        approve=approve,
        max_steps=8,
        client=client,
    )


def run_turn(agent: pondero.Chat, prompt: str) -> pondero.Reply:
    """Send a prompt, and show each tool as it is called."""
    with agent.stream(prompt) as turn:
        for event in turn:
            match event:
                case pondero.TextDelta():
                    print(event.text, end="", flush=True)
                case pondero.PartEnd(part=pondero.ToolCall() as call):
                    print(f"[{call.name} {json.dumps(call.arguments)}]", file=sys.stderr)
                case _:
                    pass
    print()
    return turn.reply


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Talk to an agent that keeps notes.")
    parser.add_argument("prompts", nargs="*", help="read from the terminal if there are none")
    parser.add_argument("--model", default="claude-opus-5/medium")
    parser.add_argument("--yes", action="store_true", help="approve every tool")
    parser.add_argument("--offline", action="store_true", help="ask the emulator")
    chosen = parser.parse_args(arguments)
    approve = (lambda _name, _arguments: True) if chosen.yes else ask_person
    with (
        pondero.Client(transport=Emulator() if chosen.offline else None) as client,
        make_agent(client, chosen.model, approve) as agent,
    ):
        for prompt in chosen.prompts or iter(lambda: input("> "), ""):
            run_turn(agent, prompt)


if __name__ == "__main__":
    try:
        main()
    except pondero.PonderoError as error:  # such as no key, or no package mcp
        sys.exit(f"agent.py: {error}")
