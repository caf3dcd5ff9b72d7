"""The tables of docs/troubleshooting.md: what services say, and what to do.

The wording comes from the rules of the emulated services, the advice from troubleshooting.toml.
"""

import runpy
import tomllib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from pondero.dialects.rejections import Rule, load_rules

ROOT = Path(__file__).resolve().parent
_WRITTEN = tomllib.loads((ROOT / "troubleshooting.toml").read_text("utf-8"))
TOPICS = _WRITTEN["topic"]
ACCOUNTS = _WRITTEN["account"]
_REFEREE = runpy.run_path(str(ROOT / "referee.py"))
_CHAT = "openai_chat"


class Advice(NamedTuple):
    """A rejection of one API or provider: its wording, status and rule, and what to do about it."""

    owner: str
    topic: str
    text: str
    status: int
    rule: Rule
    do: str


def iter_advice(dialect: str) -> Iterator[Advice]:
    """Yield the advice for the rejections of one API; raises KeyError if a rule is unknown."""
    book = load_rules(f"pondero.dialects.{dialect}.service").rule
    for topic in TOPICS:
        for name in topic["rules"].get(dialect, ()):
            rule = book[name]
            yield Advice(dialect, topic["title"], rule.text, rule.status, rule, topic["do"])


def iter_own_words() -> Iterator[Advice]:
    """Yield the rejections that a topic names in the words of the providers that have their own."""
    book = load_rules(f"pondero.dialects.{_CHAT}.service").rule
    folder = files(f"pondero.dialects.{_CHAT}.service").joinpath("providers")
    paths = sorted(folder.iterdir(), key=lambda each: each.name)
    said = [(each.name, tomllib.loads(each.read_text("utf-8")).get("says", {})) for each in paths]
    for topic in TOPICS:
        for name in topic["rules"].get(_CHAT, ()):
            for file, says in said:
                if row := says.get(name):
                    status = row.get("status", 400)  # as in referee.md, whatever the rule has
                    owner = f"`{file.removesuffix('.toml')}`"
                    title, do = topic["title"], topic["do"]
                    yield Advice(owner, title, row["text"], status, book[name], do)


def accounts() -> str:
    """Return a table for each trouble with an account or a service's load."""
    parts = []
    for topic in ACCOUNTS:
        rows = [
            (
                *(f"`{row['provider']}`", _REFEREE["_code"](row["text"])),
                *(str(row["status"]), f"`{row['kind']}`" if row["kind"] else ""),
            )
            for row in topic["says"]
        ]
        table = _REFEREE["_table"](("provider", "the service says", "status", "type"), rows)
        parts.append(f"**{topic['title']}** (`{topic['error']}`)**.** {topic['do']}\n\n{table}")
    return "\n\n".join(parts)


def apis() -> str:
    """Return a section for each API, with a table for each topic."""
    parts = []
    for dialect, title in _REFEREE["TITLES"].items():
        parts.append(f"## {title}\n\n{_tables(list(iter_advice(dialect)), by_owner=False)}")
    return "\n\n".join(parts)


def own_words() -> str:
    """Return a table for each topic, with the words of single providers."""
    return _tables(list(iter_own_words()), by_owner=True)


def _tables(found: Sequence[Advice], *, by_owner: bool) -> str:
    head = ("the service says", "status", "it rejects a request if")
    parts = []
    for (title, do), group in groupby(found, key=lambda advice: (advice.topic, advice.do)):
        rows = [
            (each.owner, *_cells(each)) if by_owner else _cells(each, each.rule.on)
            for each in group
        ]
        table = _REFEREE["_table"]((*(("provider",) if by_owner else ()), *head), rows)
        parts.append(f"**{title}.** {do}\n\n{table}")
    return "\n\n".join(parts)


def _cells(advice: Advice, on: str = "") -> tuple[str, ...]:
    where = on.replace("by model: models.toml", "some models")
    when = advice.rule.when + (f" ({where})" if where else "")
    return _REFEREE["_code"](advice.text.strip()), str(advice.status), when


BLOCKS = {"trouble-accounts": accounts, "trouble-apis": apis, "trouble-own-words": own_words}
