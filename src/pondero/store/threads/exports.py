"""Redacted exports of a thread: JSON Lines, which can be imported again, Markdown and HTML."""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TypeVar

from msgspec import Struct

from ...canon import (
    Blob,
    Image,
    Json,
    LevelUpdate,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownPart,
    dump_json,
    load_json,
)
from ...errors import BadParameter
from ..secrets import redact_secrets
from .captions import heading, media_caption, reply_caption, speaker_name, summary, thinking_caption
from .records import ExportLine, StoredMessage, Thread

VERSION = 1

_FUTURE = 2**37  # the year 6325; a later time is a mistake

Kind = TypeVar("Kind")


class _Head(Struct, frozen=True):
    pondero_thread: int
    thread: Thread


def to_jsonl(thread: Thread, lines: Iterable[ExportLine]) -> str:
    """Export a thread as JSON Lines; ``from_jsonl`` reads it back."""
    values = (_Head(VERSION, thread), *lines)
    return redact_secrets("".join(f"{dump_json(value)}\n" for value in values))


def from_jsonl(text: str | bytes) -> tuple[Thread, tuple[ExportLine, ...]]:
    """Parse an exported thread; raises BadParameter."""
    first, *rest = [line for line in _split(text) if line.strip()] or [b""]
    head = _read(first, _Head, 1)
    if head.pondero_thread != VERSION:
        message = (
            f"this thread was exported in form {head.pondero_thread}; "
            f"this version reads form {VERSION}"
        )
        raise BadParameter(message)
    lines = tuple(_read(line, ExportLine, number) for number, line in enumerate(rest, 2))
    _check(head.thread, lines)
    return head.thread, lines


def _split(text: str | bytes) -> list[bytes]:
    return (text.encode("utf-8", "replace") if isinstance(text, str) else text).split(b"\n")


def _read(line: bytes, kind: type[Kind], number: int) -> Kind:
    try:
        return load_json(line, kind)
    except (ValueError, RecursionError) as error:
        message = f"line {number} is not of an exported thread: {error}"
        raise BadParameter(message) from None


def _check(thread: Thread, lines: Sequence[ExportLine]) -> None:
    turns = [line.turn for line in lines]
    if turns != sorted(turns) or any(turn < 0 for turn in turns):
        raise BadParameter("the turns of this thread are not in order; was the file changed?")
    if not 0 <= thread.created <= thread.updated < _FUTURE:
        raise BadParameter("the times of this thread are invalid; was the file changed?")


def to_markdown(thread: Thread, kept: Iterable[StoredMessage]) -> str:
    """Export a thread as Markdown, with folded thinking."""
    kept = tuple(kept)
    blocks = [f"# {_line(heading(thread))}", summary(thread, kept)]
    if thread.system:
        blocks += ["## System", thread.system]
    for each in kept:
        blocks.append(f"## {_line(speaker_name(each))}")
        blocks += [block for part in each.message.parts for block in _part(part, each)]
        if each.message.role == "assistant" and (foot := reply_caption(each)):
            blocks.append(f"*{foot}*")
    text = redact_secrets("\n\n".join(blocks) + "\n")
    return text.encode("utf-8", "replace").decode("utf-8")


def _part(part: Part, kept: StoredMessage) -> Iterator[str]:
    match part:
        case Text():
            if part.text.strip():  # Gemini ends with an empty one, for its signature
                yield part.text
        case Thinking():
            inside = f"\n\n{part.text}\n\n" if part.text else ""
            yield f"<details><summary>{thinking_caption(part, kept)}</summary>{inside}</details>"
        case ToolCall():
            yield f"Calls `{_line(part.name)}`"
            yield _fence(_arguments(part.arguments), "json")
        case ToolResult():
            yield f"`{_line(part.name or part.call_id)}` {'failed' if part.error else 'answered'}"
            for each in part.content:
                yield _fence(each.text) if isinstance(each, Text) else f"[{media_caption(each)}]"
        case Image() | Blob() | UnknownPart():
            yield f"[{media_caption(part)}]"
        case LevelUpdate():
            yield f"[level {part.level}]"


def _fence(text: str, kind: str = "") -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}"


def _arguments(arguments: Json) -> str:
    return arguments if isinstance(arguments, str) else dump_json(arguments)


def _line(text: str) -> str:
    return " ".join(text.split())


_SHOWN = ("image/png", "image/jpeg", "image/gif", "image/webp")
_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --dim: light-dark(#5b6470, #9aa4b1);
 --line: light-dark(#d8dde3, #353c45); --you: light-dark(#eef3f9, #1c2530); }}
body {{ font: 16px/1.55 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem;
 background: light-dark(#fff, #14181d); color: light-dark(#1a1f26, #dfe5ec); }}
h1 {{ font-size: 1.4rem; margin: 0; }}
h2 {{ font-size: .85rem; color: var(--dim); margin: 0 0 .4rem; }}
section {{ padding: .8rem 1rem; margin: 1rem 0; border: 1px solid var(--line);
 border-radius: 8px; }}
section.user {{ background: var(--you); }}
p, pre {{ white-space: pre-wrap; overflow-wrap: anywhere; margin: .4rem 0; }}
pre {{ font: 13px/1.45 ui-monospace, monospace; border-left: 3px solid var(--line);
 padding-left: .7rem; }}
details {{ color: var(--dim); margin: .4rem 0; }}
summary {{ cursor: pointer; }}
footer, .about {{ color: var(--dim); font-size: .85rem; }}
img {{ max-width: 100%; }}
</style>
</head>
<body>
"""


def to_html(thread: Thread, kept: Iterable[StoredMessage]) -> str:
    """Export a thread as one HTML page without scripts or external files, with escaped text."""
    kept, title = tuple(kept), escape(heading(thread))
    blocks = [f'<h1>{title}</h1>\n<p class="about">{escape(summary(thread, kept))}</p>']
    if thread.system:
        blocks.append(_section("system", "System", [_words(thread.system)]))
    for each in kept:
        inside = [block for part in each.message.parts for block in _html_part(part, each)]
        if each.message.role == "assistant" and (foot := reply_caption(each)):
            inside.append(f"<footer>{escape(foot)}</footer>")
        blocks.append(_section(each.message.role, speaker_name(each), inside))
    page = _HEAD.format(title=title) + "\n".join(blocks) + "\n</body>\n</html>\n"
    return redact_secrets(page).encode("utf-8", "replace").decode("utf-8")


def _section(kind: str, speaker: str, blocks: Iterable[str]) -> str:
    inside = "\n".join(blocks)
    return f'<section class="{kind}">\n<h2>{escape(speaker)}</h2>\n{inside}\n</section>'


def _html_part(part: Part, kept: StoredMessage) -> Iterator[str]:
    match part:
        case Text():
            yield _words(part.text)
        case Thinking():
            inside = _words(part.text) if part.text else ""
            caption = escape(thinking_caption(part, kept))
            yield f"<details><summary>{caption}</summary>{inside}</details>"
        case ToolCall():
            yield f"<p>Calls <code>{escape(part.name)}</code></p>"
            yield _code(_arguments(part.arguments))
        case ToolResult():
            came = "failed" if part.error else "answered"
            yield f"<p><code>{escape(part.name or part.call_id)}</code> {came}</p>"
            for each in part.content:
                yield _code(each.text) if isinstance(each, Text) else _medium(each)
        case Image() | Blob() | UnknownPart():
            yield _medium(part)
        case LevelUpdate():
            yield f"<p>[level {escape(part.level)}]</p>"


def _medium(part: Image | Blob | UnknownPart) -> str:
    if isinstance(part, Image) and part.data is not None and part.media_type in _SHOWN:
        data = b64encode(part.data).decode("ascii")
        return f'<p><img alt="" src="data:{part.media_type};base64,{data}"></p>'
    return f"<p>[{escape(media_caption(part))}]</p>"


def _words(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _code(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"
