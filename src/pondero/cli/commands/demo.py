"""``demo``: levels, APIs, tools and a handoff, on the emulator."""

import os
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Any

import click

from ...canon import Reply
from ...client import Chat, Client, plan
from ...thinking import Level
from ..output.echo import echo, style_text
from .plan import print_plan

_QUESTION = "What is 17 * 23?"
_LEVELS: tuple[Level, ...] = ("off", "low", "high", "max")
_ONE = "claude-opus-5"
_EACH = (
    "claude-opus-5",
    "gpt-5.5",
    "openai-chat:gpt-5",
    "gemini-3-flash-preview",
    "cohere:command-a-reasoning",
    "ollama:qwen3",
    "bedrock:claude-opus-4",
)
_REASONS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("room is kept for the answer", "claude-sonnet-4-5/high", {"max_tokens": 8000}),
    ("a model that cannot be off", "gemini-3-pro-preview/off", {}),
    ("a model that is newer than the catalog", "claude-opus-9/high", {}),
)
_NEXT = (
    'ask --offline gpt-5.5/low "What is 391 / 17?"',
    "plan claude-opus-5/high    # what would be sent, for any model",
    "doctor                     # which keys and extras there are",
)


@click.command()
def demo() -> None:
    """See levels, tools and a handoff at work; no key needed."""
    from ...emulator import Emulator

    with Client(transport=Emulator()) as client:
        _title(f"One question, four levels of {_ONE}")
        for level in _LEVELS:
            _show(client.ask(_ONE, _QUESTION, level))
        _title("One level, seven APIs: medium")
        for model in _EACH:
            _show(client.ask(model, _QUESTION, "medium"))
        _title("A tool call, turn two, and a handoff")
        _talk(client)
    _title("Every difference has a reason")
    for title, model, asked in _REASONS:
        echo(style_text(f"· {title}", bold=True))
        echo(style_text(f"  $ pondero plan {model}{_flags(asked)}", fg="cyan"))
        print_plan(plan(model, **asked), indent=4, without=("facts", "model"))
        echo()
    _title("Next")
    program = _name_program()
    for words in _NEXT:
        echo(style_text(f"  $ {program} {words}", fg="cyan"))
    echo()
    echo("  docs/index.md of the repository has a start of five minutes for scripts,")
    echo("  agents, teams, evaluations and tests.")


def _name_program() -> str:
    """Return what the reader can type: 'make demo' leaves the program in .venv, not on the PATH."""
    started = Path(sys.argv[0])
    if shutil.which("pondero") is not None or started.stem != "pondero":
        return "pondero"
    return os.path.relpath(started)


def _talk(client: Client) -> None:
    chat = Chat("claude-opus-5/high", tools=[get_weather], client=client)
    _turn(chat, "What is the weather in Paris?")
    chat.thinking = "low"
    _turn(chat, "And what is 391 / 17?")
    chat.model = "google:gemini-3-flash-preview"
    _turn(chat, "And what is 23 * 3?")
    for number, line in enumerate(str(chat.handoff).splitlines()):
        _line("" if number else "handoff", line.strip(), dim=True)
    echo()


def get_weather(city: str) -> str:
    """Return the weather in a city.

    Args:
        city: the city's name
    """
    return f"{city}: sunny, 21 degrees"


def _turn(chat: Chat, text: str) -> None:
    echo(style_text(f"you       {text}", bold=True))
    before = len(chat.messages)
    reply = chat.send(text)
    for message in chat.messages[before:]:
        for call in message.tool_calls:
            echo(f"calls     {call.name}({', '.join(map(str, call.arguments.values()))})")
    _show(reply)


def _show(reply: Reply) -> None:
    usage = reply.usage
    if (made := reply.plan) is not None:
        sent = f"{made.level}, {made.budget:,} tokens" if made.budget else f"{made.level}"
        head = f"{made.model:<31} {made.asked!s:<7}→ {sent}"
        echo(style_text(head, fg="cyan"))
    if reply.thinking:
        _line("thinking", reply.thinking, dim=True)
    elif usage.thinking:
        _line("thinking", "not shown by this service", dim=True)
    _line("answer", reply.text, dim=False)
    spent = f"thinking and answer {usage.output:,}"
    if usage.thinking is not None:
        spent = f"thinking {usage.thinking:,}, answer {usage.output:,}"
    _line("tokens", f"{spent} · {reply.verdict}", dim=True)
    echo()


def _line(label: str, text: str, *, dim: bool) -> None:
    width = max(40, shutil.get_terminal_size().columns) - 12
    lines = textwrap.wrap(" ".join(text.split()), width, max_lines=2, placeholder=" …") or [""]
    for number, line in enumerate(lines):
        echo(f"  {'' if number else label:<10}", style_text(line, dim=dim))


def _title(text: str) -> None:
    echo(style_text(text, bold=True, underline=True))
    echo()


def _flags(asked: dict[str, Any]) -> str:
    return "".join(f" --{name.replace('_', '-')} {value}" for name, value in asked.items())
