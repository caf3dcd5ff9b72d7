"""The tables of docs/referee.md: every rule of every emulated service, and the known gaps."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from importlib.resources import files

from pondero.dialects import NAMES
from pondero.dialects.rejections import RuleBook, load_rules

_FORMATTED = re.compile(r"(?<!\{)\{(\w+)[!:][^{}]*\}(?!\})")
TITLES = {
    "anthropic": "Anthropic Messages",
    "openai_responses": "OpenAI Responses",
    "openai_chat": "OpenAI Chat Completions and compatible services",
    "gemini": "Gemini generateContent",
    "cohere": "Cohere v2 chat",
    "ollama": "Ollama",
    "bedrock": "Amazon Bedrock Converse",
    "interactions": "Gemini Interactions",
}


def books() -> Iterator[tuple[str, RuleBook]]:
    """Yield each dialect's title and its rules."""
    for name in NAMES:
        yield TITLES[name], load_rules(f"pondero.dialects.{name}.service")


def rules() -> str:
    """Return every rule, one table for each dialect, and the providers' own wordings."""
    parts = [f"## {title}\n\n{_rule_table(book)}" for title, book in books()]
    parts.append(f"## Wordings of single providers\n\n{_own_words()}")
    return "\n\n".join(parts)


def _own_words() -> str:
    """Return the texts of providers that say a rule of their dialect in their own words."""
    rows: list[tuple[str, ...]] = []
    folder = files("pondero.dialects.openai_chat.service").joinpath("providers")
    for path in sorted(folder.iterdir(), key=lambda each: each.name):
        table = tomllib.loads(path.read_text("utf-8"))
        name = path.name.removesuffix(".toml")
        for rule, row in table.get("says", {}).items():
            source, checked = (row.get(key, table.get(key, "")) for key in ("source", "checked"))
            status = str(row.get("status", 400))
            rows.append((name, f"`{rule}`", _code(row["text"]), status, source, checked))
    models = files("pondero.dialects.gemini.service").joinpath("models.toml")
    surfaces = tomllib.loads(models.read_text("utf-8"))["surfaces"]
    for name, surface in surfaces.items():
        for rule, text in surface.get("words", {}).items():
            status = str(surface.get("statuses", {}).get(rule, 400))
            source, checked = "vendor's pages and recorded exchanges", "2026-11-15"
            rows.append((name, f"`{rule}`", _code(text), status, source, checked))
    return _table(("provider", "rule", "wording", "status", "source", "checked"), rows)


def _rule_table(book: RuleBook) -> str:
    rows = [
        (
            *(f"`{name}`", rule.when, rule.on or "all", _code(rule.text)),
            *(str(rule.status), rule.source, rule.checked),
        )
        for name, rule in book.rule.items()
    ]
    return _table(("rule", "rejected if", "on", "wording", "status", "source", "checked"), rows)


def gaps() -> str:
    """Return the rejections that services make and the emulator does not."""
    rows = [
        (title, gap.when, gap.on or "all", gap.why, gap.source, gap.checked)
        for title, book in books()
        for gap in book.gap
    ]
    if not rows:
        return "None is known."
    return _table(("API", "the service rejects", "on", "why not here", "source", "checked"), rows)


def count() -> str:
    """Return how many rules there are."""
    found = [book for _, book in books()]
    total, missing = sum(len(book.rule) for book in found), sum(len(book.gap) for book in found)
    return f"{total} rules for {len(found)} APIs; {missing} known gaps."


def _code(text: str) -> str:
    """Return a text as code in a cell of a table."""
    text = _FORMATTED.sub(r"{\1}", text)
    shown = text.replace("{{", "{").replace("}}", "}").replace("\n", "⏎").replace("|", "\\|")
    ticks = "``" if "`" in shown else "`"
    space = " " if ticks == "``" else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


BLOCKS = {"referee-rules": rules, "referee-gaps": gaps, "referee-count": count}
