"""The options of ``ask``: in sections for its help, and as one value for the files that run it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec import Struct

from ...client import explain_unknown
from ...store import Template
from ...thinking import parse_intent
from ..command import policy_option
from ..commands.completion import level, model, server, template

STEPS = 20  # as a chat has it
Command = TypeVar("Command", bound=Callable[..., object])


class AskOptions(Struct, frozen=True, kw_only=True):
    """The options of one call, without the words of the question."""

    models: tuple[str, ...] = ()
    levels: str | None = None
    system: str | None = None
    attached: tuple[str, ...] = ()
    no_stdin: bool = False
    files: tuple[str, ...] = ()
    template: str | None = None
    variables: tuple[tuple[str, str], ...] = ()
    schema: str | None = None
    schema_multi: str | None = None
    settings: tuple[tuple[str, str], ...] = ()
    max_tokens: int | None = None
    seed: int | None = None
    policies: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    approved: tuple[str, ...] = ()
    max_steps: int | None = None
    go_on: bool = False
    no_save: bool = False
    no_media: bool = False
    offline: bool = False
    cassette: Path | None = None
    shown: bool | None = None
    plain: bool = False
    usage: bool = False
    wire: bool = False
    as_json: bool = False
    as_lines: bool = False

    @property
    def paid(self) -> bool:
        """Return whether a service answers, and not the emulator or a recording."""
        return not self.offline and self.cassette is None

    @property
    def names_several(self) -> bool:
        """Return whether several models or levels are named, valid or not."""
        return max(1, len(self.models)) * max(1, len(split_levels(self.levels))) > 1


SECTIONS: dict[str, tuple[str, ...]] = {
    "Model": ("models", "levels", "policies", "offline"),
    "Question": ("system", "attached", "no_stdin", "template", "variables"),
    "Answer": ("schema", "schema_multi", "settings", "max_tokens", "seed"),
    "Tools": ("tools", "servers", "approved", "max_steps"),
    "Thread": ("go_on", "no_media", "no_save"),
    "Output": ("shown", "plain", "usage", "wire", "as_json", "as_lines", "cassette"),
}


def ask_options(command: Command) -> Command:
    """Give the command its options; the names of their values are those of ``AskOptions``."""
    for option in reversed((*_model(), *_question(), *_answer(), *_tools(), *_rest())):
        command = option(command)
    return policy_option(command)


_Option = Callable[[Any], Any]


def _model() -> Iterator[_Option]:
    yield click.option(
        "-m", "--model", "models", multiple=True, metavar="MODEL[/LEVEL]", shell_complete=model,
        help="The model; every argument is then the PROMPT. Repeat it to compare models.",
    )  # fmt: skip
    yield click.option(
        "--levels", metavar="LIST", shell_complete=level,
        help="Levels to compare side by side, such as low,high.",
    )  # fmt: skip
    yield click.option(
        "--offline", is_flag=True, help="Ask the built-in emulator: no key, no network."
    )


def _question() -> Iterator[_Option]:
    yield click.option("-s", "--system", metavar="TEXT", help="The system prompt.")
    yield click.option(
        "-a", "--attach", "attached", multiple=True, metavar="FILE|URL|-", type=click.Path(),
        help="An image, PDF or text to ask about; - is standard input. May be repeated.",
    )  # fmt: skip
    yield click.option(
        "--no-stdin", is_flag=True, help="Do not read what is piped in, as in a 'while read' loop."
    )
    yield click.option("-f", "--file", "files", multiple=True, hidden=True)  # -a of old
    yield click.option(
        "-t", "--template", metavar="NAME", shell_complete=template,
        help="A saved template to use; see 'pondero templates'.",
    )  # fmt: skip
    yield click.option(
        "-p", "--param", "variables", multiple=True, type=(str, str), metavar="NAME VALUE",
        help="Fill in a $variable of the template; may be repeated.",
    )  # fmt: skip


def _answer() -> Iterator[_Option]:
    yield click.option(
        "--schema", metavar="SCHEMA",
        help="Answer in JSON: a schema's file, the schema itself, or 'name, age int'.",
    )  # fmt: skip
    yield click.option(
        "--schema-multi",
        metavar="SCHEMA",
        help='The same for a list of objects, as {"items": [...]}.',
    )
    yield click.option(
        "-o", "--option", "settings", multiple=True, type=(str, str), metavar="KEY VALUE",
        help=f"{' '.join(SETTINGS)}. May be repeated, also for stop.",
    )  # fmt: skip
    yield click.option(
        "--max-tokens", type=int, metavar="N", help="Maximum output tokens, thinking included."
    )
    yield click.option(
        "--seed",
        type=int,
        metavar="N",
        help="The same seed gives the same answer, if the service can.",
    )


def _tools() -> Iterator[_Option]:
    yield click.option(
        "--tool", "tools", multiple=True, metavar="MODULE:FUNCTION",
        help="A function the model may call, as mine:search or file.py:search. May be repeated.",
    )  # fmt: skip
    yield click.option(
        "--mcp", "servers", multiple=True, metavar="SERVER", shell_complete=server,
        help="An MCP server: a name from config.toml, a command line or a URL.",
    )  # fmt: skip
    yield click.option(
        "--approve", "approved", multiple=True, metavar="NAME|all",
        help="Run this tool without asking for approval. Default: ask, on a terminal.",
    )  # fmt: skip
    yield click.option(
        "--max-steps", type=click.IntRange(1), metavar="N",
        help=f"Ask the model at most N times in a turn. Default: {STEPS}.",
    )  # fmt: skip


def _rest() -> Iterator[_Option]:
    yield click.option(
        "-c", "--continue", "go_on", is_flag=True,
        help="Continue the last thread, or the one whose id is the first argument.",
    )  # fmt: skip
    yield click.option(
        "--no-media", is_flag=True,
        help="With -c: tell the model of earlier pictures and files without sending them.",
    )  # fmt: skip
    yield click.option("--no-save", is_flag=True, help="Do not save this question and answer.")

    yield click.option(
        "--thinking/--no-thinking", "shown", default=None,
        help="Show thinking on stderr. Default: only on a terminal.",
    )  # fmt: skip
    yield click.option(
        "--plain", is_flag=True, help="Print the answer as plain text, without rendering Markdown."
    )
    yield click.option(
        "-u", "--usage", is_flag=True, help="Print model, tokens, cost, time and verdict on stderr."
    )
    yield click.option(
        "--wire", is_flag=True, help="Print the raw request and response on stderr, keys redacted."
    )
    yield click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
    yield click.option(
        "--json-lines", "as_lines", is_flag=True, help="Print the events as JSON, one per line."
    )
    yield click.option(
        "--cassette", type=click.Path(path_type=Path), metavar="FILE",
        help="Replay this recording, or record it with VCR_RECORD=1.",
    )  # fmt: skip


SETTINGS: dict[str, Callable[[str], Any]] = {
    "temperature": float,
    "top_p": float,
    "top_k": int,
    "seed": int,
    "max_tokens": int,
    "stop": str,
}
"""What -o takes, and how its value is read."""


def settings_of(given: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    """Return the settings by name, stop as all its texts; raises click's BadParameter."""
    found: dict[str, Any] = {}
    for name, value in given:
        if name not in SETTINGS:
            raise _bad(explain_unknown(name, SETTINGS))
        if name == "stop":
            found[name] = (*found.get(name, ()), str(value))
            continue
        try:
            found[name] = SETTINGS[name](value)
        except ValueError:
            kind = "a whole number" if SETTINGS[name] is int else "a number"
            raise _bad(f"{name} is {kind}, not {value!r}") from None
    return found


def template_settings(template: Template | None) -> dict[str, Any]:
    """Return the settings of a template, none if there is no template."""
    kept = {} if template is None else template.options
    pairs = (
        (name, each)
        for name, value in kept.items()
        for each in (value if isinstance(value, list) else [value])
    )
    return settings_of(tuple(pairs))


def parse_levels(text: str | None) -> tuple[str, ...]:
    """Return the levels of a comma-separated list; raise BadThinking for an unknown one."""
    levels = split_levels(text)
    if text is not None and not levels:
        raise click.UsageError("--levels is a list such as low,high")
    for each in levels:
        parse_intent(each)
    return levels


def split_levels(text: str | None) -> tuple[str, ...]:
    """Return the words of a comma-separated list, each once."""
    words = (word.strip() for word in (text or "").split(","))
    return tuple(dict.fromkeys(filter(None, words)))


def _bad(message: str) -> click.BadParameter:
    return click.BadParameter(message, param_hint="-o")
