"""Tables about the interfaces of pondero, generated from the code; ``generate.py`` writes them.

The command line comes from click, settings from their validators, events, errors and gateway.toml
from their classes.
"""

import inspect
import re
import types
from collections.abc import Callable, Iterator
from typing import Any, Literal, Union, get_args, get_origin

import click
import msgspec

from pondero import errors
from pondero.canon import Event, Finish, Part, Reply, Usage, Verdict
from pondero.cli import app as cli
from pondero.cli.command import Sections, code_of
from pondero.gateway.config import model as gateway
from pondero.store import SETTINGS, Settings, ToolServer
from pondero.thinking import CHOICES, TOKENS, Policy

SAID_OF_SETTINGS = {
    "model": "the model where none is named; `PONDERO_MODEL` overrides it",
    "thinking": "the level for a model that is named without one",
    "save": "whether `ask` and `chat` save threads",
    "theme": "the colours of the chat; `/theme` lists them",
    "tools.approved": "tools that the chat runs without asking you",
    "policy.unsupported": "what happens if a model cannot do exactly what you request",
    "policy.off": "what `off` sends to a model that cannot be off",
    "policy.budgets": "how a level becomes a token budget",
    "policy.unknown": "what is sent to a model that matches no family of the catalog",
    "policy.show": "whether the service is asked to show its thinking",
    "policy.foreign": "what happens to another model's thinking at a handoff",
    "policy.answer_room": "tokens below `max_tokens` that are reserved for the answer",
    "policy.context_cap": "maximum thinking tokens once the context is long; 0 means no cap",
}

VALUES = {
    "model": "a name, such as `claude-opus-5/high`",
    "thinking": "a level or a token budget",
    "save": "`true` or `false`",
    "theme": "a name",
    "tools.approved": 'a list of `"SOURCE/TOOL"`',
}
"""The possible values of settings outside the policy."""

_INNER = {"LevelRules": "thinking", "SpendBudget": "budget", "RateLimitRule": "limit"}
"""The inline tables of gateway.toml, by their classes."""


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def code(text: str) -> str:
    """Return text as code for a table cell."""
    if "|" not in text:
        return f"`{text}`"
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;")
    return f"<code>{safe}</code>"


def prose(text: str) -> str:
    """Return a docstring or help text as one paragraph for a table cell."""
    plain = re.sub(r"``(.+?)``", r"`\1`", " ".join(text.split()))
    return re.sub(r"(?<!`)\|(?!`)", "&#124;", plain).replace("<", "&lt;")


# --- the command line ---------------------------------------------------------------------------


def commands() -> str:
    """Return every command with its description, usage, options and examples."""
    context = click.Context(cli.app, info_name="pondero")
    return "\n\n".join(part for each in _below(cli.app, context) for part in _command(*each))


def _below(group: click.Group, context: click.Context) -> Iterator[tuple[click.Command, Any]]:
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None  # noqa: S101 - it was just listed
        inner = click.Context(found, info_name=name, parent=context)
        yield found, inner
        if isinstance(found, click.Group):
            yield from _below(found, inner)


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    depth = len(context.command_path.split())
    yield f"{'#' * depth} {context.command_path}"
    yield from _paragraphs(inspect.cleandoc(command.help or ""))
    if isinstance(command, click.Group):
        return
    yield f"```text\n{context.command_path} {' '.join(command.collect_usage_pieces(context))}\n```"
    for heading, records in _options(command, context):
        rows = [[code(" ".join(option.split())), prose(said)] for option, said in records]
        yield table([heading, "meaning"], rows)
    if command.epilog:
        lines = [line.strip() for line in command.epilog.splitlines()[2:]]
        yield "```sh\n" + "\n".join(re.sub(r" {2,}", "    # ", line) for line in lines) + "\n```"


def _paragraphs(text: str) -> Iterator[str]:
    for part in re.split(r"\n\s*\n", text):
        if part.startswith("\b"):
            yield f"```text\n{part.removeprefix(chr(8)).strip(chr(10))}\n```"
        else:
            yield prose(part)


def _options(
    command: click.Command, context: click.Context
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    found = {str(each.name): each.get_help_record(context) for each in command.get_params(context)}
    records = {name: record for name, record in found.items() if record is not None}
    records = {name: each for name, each in records.items() if "--help" not in each[0]}
    headings = command.sections if isinstance(command, Sections) else {"option": tuple(records)}
    for heading, names in headings.items():
        if listed := [records[name] for name in names if name in records and records[name][1]]:
            yield heading, listed


# --- settings -----------------------------------------------------------------------------------


def settings() -> str:
    """Return the settings of config.toml, with defaults."""
    return table(
        ["setting", "values", "default", "meaning"],
        [[f"`{name}`", _values(name), _usual(name), SAID_OF_SETTINGS[name]] for name in SETTINGS],
    )


def _values(name: str) -> str:
    policy = name.removeprefix("policy.")
    if policy in CHOICES and name != policy:
        return " ".join(f"`{word}`" for word in CHOICES[policy])
    if policy in TOKENS and name != policy:
        return "a number of tokens"
    return VALUES[name]


def _usual(name: str) -> str:
    table, _, field = name.rpartition(".")
    value = getattr(Policy() if table == "policy" else Settings(), field, None)
    return "-" if value is None else code(msgspec.json.encode(value).decode().strip('"'))


def servers() -> str:
    """Return the fields of an MCP server in config.toml."""
    lines = _fields(ToolServer, _toml).splitlines()
    return "\n".join(line for line in lines if not line.startswith("| `name` |"))  # the table's


def gateway_file() -> str:
    """Return the tables of gateway.toml with their fields and defaults."""
    names = ("server", "[route]", "provider.NAME", "[key]")
    kinds = (
        gateway.ServerConfig,
        gateway.GatewayRoute,
        gateway.ProviderOverride,
        gateway.GatewayKey,
    )
    tables = {f"[{name}]": kind for name, kind in zip(names, kinds, strict=True)}
    for kind in (gateway.LevelRules, gateway.SpendBudget, gateway.RateLimitRule):
        tables[f"{_INNER[kind.__name__]} = {{ ... }}"] = kind
    return "\n\n".join(
        f"### `{name}`\n\n{_said(kind)}\n\n{_fields(kind, _toml)}" for name, kind in tables.items()
    )


# --- values -------------------------------------------------------------------------------------


def events() -> str:
    """Return every event of a stream with its fields."""
    return "\n\n".join(_value(kind) for kind in get_args(Event))


def parts() -> str:
    """Return every part of a message with its fields."""
    return "\n\n".join(_value(kind) for kind in get_args(Part))


def endings() -> str:
    """Return the values of ``finish`` and ``verdict``."""
    rows = [
        ["`finish`", " ".join(f"`{word}`" for word in get_args(Finish))],
        ["`verdict`", " ".join(f"`{word}`" for word in get_args(Verdict))],
    ]
    return table(["field", "values"], rows)


def counts() -> str:
    """Return the token counts of a usage, and the fields of a reply."""
    return f"{_value(Usage)}\n\n{_value(Reply)}"


def _value(kind: type) -> str:
    tag = getattr(kind, "__struct_config__").tag  # noqa: B009 - msgspec does not declare it
    told = f" (`{tag}`)" if tag else ""
    return f"### {kind.__name__}{told}\n\n{_said(kind)}\n\n{_fields(kind)}"


def _said(kind: type) -> str:
    return re.sub(r"``(.+?)``", r"`\1`", inspect.getdoc(kind) or "").partition("\n>>>")[0].rstrip()


def _fields(kind: type, write: Callable[[Any], str] | None = None) -> str:
    rows = [
        [f"`{each.encode_name}`", _cell(kind, each.name, write or _type), _default(each)]
        for each in msgspec.structs.fields(kind)
    ]
    return table(["field", "type", "default"], rows)


def _cell(kind: type, name: str, write: Callable[[Any], str]) -> str:
    return code(write(kind.__annotations__[name]))


def _toml(kind: Any) -> str:
    """Return an annotation as a value of TOML, which has no None and no tuple."""
    said = _type(kind).removesuffix(" | None").replace("tuple[str, ...]", "list[str]")
    return _INNER.get(said, said)


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    if field.default is msgspec.NODEFAULT:
        return "empty"
    if isinstance(field.default, msgspec.Struct):
        return "none set"
    if field.default in (None, msgspec.UNSET):  # an unset field is left out
        return "-"
    return code(str(msgspec.json.encode(field.default), "utf-8"))


def _type(kind: Any) -> str:
    """Return an annotation in its usual notation."""
    if isinstance(kind, str):
        return kind
    if kind is None or kind is type(None):
        return "None"
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(_type, inner)))
    if origin is Literal:
        return " | ".join(f'"{word}"' for word in inner)
    if hasattr(kind, "__metadata__"):
        return _type(inner[0])
    if origin is not None:
        said = ", ".join("..." if each is Ellipsis else _type(each) for each in inner)
        return f"{getattr(origin, '__name__', origin)}[{said}]"
    return str(getattr(kind, "__name__", kind))


# --- errors -------------------------------------------------------------------------------------


def error_tree() -> str:
    """Return the tree of errors, with exit codes."""
    rows = []
    for depth, kind in _kinds(errors.PonderoError, 0):
        name = f"{'&emsp;' * depth}`{kind.__name__}`"
        rows.append([name, prose(_said(kind)), f"`{kind.category}`", _exit_code(kind)])
    return table(["error", "meaning", "`category`", "exit code"], rows)


def _kinds(kind: type, depth: int) -> Iterator[tuple[int, type]]:
    yield depth, kind
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from _kinds(below, depth + 1)


def _exit_code(kind: type) -> str:
    return str(code_of(kind.__new__(kind)))


def statuses() -> str:
    """Return the error for an HTTP status if the service gives no more detail."""
    found: dict[str, list[str]] = {}
    for status in range(400, 600):
        found.setdefault(errors.error_for_status(status).__name__, []).append(str(status))
    rows = [
        [", ".join(each) if len(each) < 9 else f"any other {each[0][0]}xx", f"`{name}`"]
        for name, each in found.items()
    ]
    return table(["status", "error"], sorted(rows))


def exit_codes() -> str:
    """Return the exit codes from the help text of the command line."""
    said = (cli.__doc__ or "").partition("Exit codes: ")[2].strip().rstrip(".")
    rows = [each.split(" ", 1) for each in said.split(", ")]
    return table(["code", "meaning"], [[f"`{number}`", means] for number, means in rows])


BLOCKS = {
    "commands": commands,
    "settings": settings,
    "mcp-servers": servers,
    "gateway-file": gateway_file,
    "events": events,
    "parts": parts,
    "endings": endings,
    "counts": counts,
    "error-tree": error_tree,
    "statuses": statuses,
    "exit-codes": exit_codes,
}
