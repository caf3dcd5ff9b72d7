"""A thread as one HTML page: nothing is fetched, nothing runs, every word is escaped."""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from html import escape

from ..canon import Blob, Image, Other, Part, Text, Thinking, ToolCall, ToolResult, dumped
from .captions import footing, heading, medium, speaker, summary, thought
from .records import Kept, Thread
from .secrets import hidden

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


def to_html(thread: Thread, kept: Iterable[Kept]) -> str:
    """Return a thread as a page that can be opened from a disk or sent by mail."""
    title = escape(heading(thread))
    blocks = [f'<h1>{title}</h1>\n<p class="about">{escape(summary(thread))}</p>']
    if thread.system:
        blocks.append(_section("system", "System", [_words(thread.system)]))
    for each in kept:
        inside = [block for part in each.message.parts for block in _part(part, each)]
        if each.message.role == "assistant" and (foot := footing(each)):
            inside.append(f"<footer>{escape(foot)}</footer>")
        blocks.append(_section(each.message.role, speaker(each), inside))
    page = _HEAD.format(title=title) + "\n".join(blocks) + "\n</body>\n</html>\n"
    return hidden(page).encode("utf-8", "replace").decode("utf-8")


def _section(kind: str, who: str, blocks: Iterable[str]) -> str:
    inside = "\n".join(blocks)
    return f'<section class="{kind}">\n<h2>{escape(who)}</h2>\n{inside}\n</section>'


def _part(part: Part, kept: Kept) -> Iterator[str]:
    match part:
        case Text():
            yield _words(part.text)
        case Thinking():
            inside = _words(part.text) if part.text else ""
            yield f"<details><summary>{escape(thought(part, kept))}</summary>{inside}</details>"
        case ToolCall():
            yield f"<p>Calls <code>{escape(part.name)}</code></p>"
            plain = isinstance(part.arguments, str)
            yield _code(part.arguments if plain else dumped(part.arguments))
        case ToolResult():
            came = "failed" if part.error else "answered"
            yield f"<p><code>{escape(part.name or part.call_id)}</code> {came}</p>"
            for each in part.content:
                yield _code(each.text) if isinstance(each, Text) else _medium(each)
        case Image() | Blob() | Other():
            yield _medium(part)


def _medium(part: Image | Blob | Other) -> str:
    if isinstance(part, Image) and part.data is not None and part.media_type in _SHOWN:
        data = b64encode(part.data).decode("ascii")
        return f'<p><img alt="" src="data:{part.media_type};base64,{data}"></p>'
    return f"<p>[{escape(medium(part))}]</p>"


def _words(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _code(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"
