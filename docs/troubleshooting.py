"""The tables of docs/troubleshooting.md: what services say, and what to do.

The wording comes from the rules of the emulated services, the advice from troubleshooting.toml.
"""

import runpy
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from pondero.dialects.rejections import Rule, load_rules

ROOT = Path(__file__).resolve().parent
_WRITTEN = tomllib.loads((ROOT / "troubleshooting.toml").read_text("utf-8"))
TOPICS = _WRITTEN["topic"]
ACCOUNTS = _WRITTEN["account"]
SPELLED = _WRITTEN["spelled"]
_REFEREE = runpy.run_path(str(ROOT / "referee.py"))
_CHAT = "openai_chat"


class Advice(NamedTuple):
    """A rejection of one API or provider: its wording, status and rule, and what to do about it.

    ``spelled`` are the wordings with common values in place of the names in braces.
    """

    owner: str
    topic: str
    text: str
    status: int
    rule: Rule
    do: str
    code: str | None = None
    spelled: tuple[str, ...] = ()


def iter_advice(dialect: str) -> Iterator[Advice]:
    """Yield the advice for the rejections of one API; raises KeyError if a rule is unknown."""
    book = load_rules(f"pondero.dialects.{dialect}.service").rule
    values = SPELLED.get(dialect, {})
    for topic in TOPICS:
        title, do = topic["title"], topic["do"]
        for name in topic["rules"].get(dialect, ()):
            rule = book[name]
            spelled = tuple(_spell(rule.text, each) for each in values.get(name, ()))
            yield Advice(dialect, title, rule.text, rule.status, rule, do, rule.code, spelled)
        for row in topic.get("more", {}).get(dialect, ()):
            rule = Rule(**row, source="", checked="")
            yield Advice(dialect, title, rule.text, rule.status, rule, do)


def _spell(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


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
                    code = row.get("code")
                    yield Advice(owner, title, row["text"], status, book[name], do, code)


def accounts() -> str:
    """Return a table for each trouble with an account or a service's load."""
    parts = []
    for topic in ACCOUNTS:
        rows = [
            (
                *(f"`{row['provider']}`", _REFEREE["_code"](row["text"])),
                str(row["status"]),
                ", ".join(
                    dict.fromkeys(f"`{row[key]}`" for key in ("kind", "code") if row.get(key))
                ),
            )
            for row in topic["says"]
        ]
        table = _REFEREE["_table"](("provider", "the service says", "status", "type, code"), rows)
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
    parts = []
    for (title, do), group in groupby(found, key=lambda advice: (advice.topic, advice.do)):
        rows = list(group)
        coded = any(each.code for each in rows)
        head = (
            *(("provider",) if by_owner else ()),
            *("the service says", "status"),
            *(("code",) if coded else ()),
            "it rejects a request if",
        )
        cells = [_cells(each, by_owner=by_owner, coded=coded) for each in rows]
        parts.append(f"**{title}.** {do}\n\n{_REFEREE['_table'](head, cells)}")
    return "\n\n".join(parts)


def _cells(advice: Advice, *, by_owner: bool, coded: bool) -> tuple[str, ...]:
    on = "" if by_owner else advice.rule.on.replace("by model: models.toml", "some models")
    return (
        *((advice.owner,) if by_owner else ()),
        _say(advice),
        str(advice.status),
        *((f"`{advice.code}`" if advice.code else "",) if coded else ()),
        advice.rule.when + (f" ({on})" if on else ""),
    )


def _say(advice: Advice) -> str:
    """Return the wording, its common forms, and their first sentences without backticks."""
    said = _code(advice.text.strip())
    if advice.spelled:
        said += f", such as {', '.join(map(_code, advice.spelled))}"
    begin = [text.strip().partition(". ")[0] for text in (advice.text, *advice.spelled)]
    plain = [text.replace("`", "") for text in begin if "`" in text]
    return f"{said}; without backticks: {', '.join(map(_code, plain))}" if plain else said


def _code(text: str) -> str:
    code: str = _REFEREE["_code"](text)
    return code


BLOCKS = {"trouble-accounts": accounts, "trouble-apis": apis, "trouble-own-words": own_words}
