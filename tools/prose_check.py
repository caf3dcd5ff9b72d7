"""Counts phrases that are not plain English in our prose, and fails above a limit.

It reads docstrings, comments, help texts and messages in ``src``, the docs and the console's
pages. ``make
lint`` runs it. The limits are in ``limits.toml`` next to it and only go down; a phrase without a
line there has the limit 0. ``--list PHRASE`` prints every hit of one phrase.
"""

import argparse
import ast
import io
import re
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Phrase(NamedTuple):
    """A pattern that the prose avoids; tier 1 is to reach 0, tier 2 has good uses too."""

    tier: int
    pattern: re.Pattern[str]
    instead: str


class Line(NamedTuple):
    """A line of prose: the kind of file it is in, where, and its text."""

    place: str
    path: str
    number: int
    text: str


class Hit(NamedTuple):
    """A line that contains a phrase."""

    phrase: str
    line: Line


def _make(tier: int, pattern: str, instead: str) -> Phrase:
    return Phrase(tier, re.compile(pattern, re.IGNORECASE), instead)


PHRASES = {
    "none-where": _make(1, r"\b(None|nothing|empty|False|True|zero|0) where\b", "None if ..."),
    "raises-where": _make(1, r"\braises? \w+( or \w+)? where\b", "raises X if"),
    "cannot-be": _make(
        1, r"\bcannot be(?=[;,.]|$)|\bthat can(not)? be(?=[;,.])", "invalid X; use Y"
    ),
    "that-is-none": _make(
        1,
        r"\b(?<!there )(?-i:(is|are) none)\b(?! of)|\b(by|for) what is no \w+",
        "an unknown X; anything else",
    ),
    "what-of": _make(1, r"\bwhat of (a|an|the|it|this|what|that)\b", "which parts of"),
    "whoever": _make(1, r"\bwho(so)?ever\b", "name the person or program"),
    "unsaid": _make(1, r"\bunsaid\b", "by default"),
    "unasked": _make(1, r"\bunasked\b", "without asking, automatically"),
    "so-many": _make(
        1,
        r"\b(at most |of |for |after |in )?so (many|much)"
        r" (seconds|tokens|messages|processes|questions|of)\b",
        "N seconds; the given number",
    ),
    "anew": _make(1, r"\banew\b|\bthereof\b|\bwhereof\b|\bby its nature\b", "again"),
    "on-no": _make(1, r"\b(is|are) on no \w+", "is not on any"),
    "may-come": _make(
        1,
        r"\b(who|everybody|everyone) may come\b|\bmay (come|enter)\b",
        "is allowed to, can connect",
    ),
    "ceiling": _make(
        1,
        r"\b[Cc]eilings?\b|\bthat bit\b|\bat the gate\b|\b(?-i:Come in)\b",
        "limit; in the gateway; sign in",
    ),
    "held-against": _make(1, r"\b(hold|holds|held) (\w+ ){0,3}against\b", "compare with"),
    "would-be": _make(
        1, r"\bor would be\b|\bas (it|they) would (be|have)\b", "or its default location"
    ),
    "stands": _make(
        2,
        r"\b(stand|stands|stood)"
        r" (in|at|on|before|behind|beside|there|where|for itself|with|around|inside)\b",
        "is in, comes before",
    ),
    "goes-on": _make(2, r"\b(go|goes|going|went) on (with|from|after|to)\b", "continue"),
    "beside": _make(
        2,
        r"\bbeside (it|them|the|a|an|our|its|words|model|each|us|that|those)\b",
        "next to, along with, besides",
    ),
    "as-it-came": _make(2, r"\bas (it|they) (came|comes|come|stood|stands)\b", "unchanged"),
    "for-people": _make(2, r"\bfor people\b|\bas people (say|write|would)\b", "human-readable"),
    "for-what": _make(
        2,
        r"\b(for|of|with|from|to|by|in) what"
        r" (is|was|were|are|it|they|a|the|came|comes|stands|goes)\b",
        "name the thing",
    ),
    "somebody": _make(
        2,
        r"\bsomebody( else)?('s)?\b|\bnobody\b|\beverybody\b",
        "another program; no one; all",
    ),
    "came-of": _make(
        2,
        r"\btold in words\b|\b(came|comes|come) of (it|them|this|that)\b|\bbecame of\b",
        "sent as text; the result",
    ),
    "money": _make(2, r"(?<![\w\".])money\b(?![(\":.\w])", "cost"),
}
PLACES = ("src", "docs", "console")
# Pages that quote the facts of vendors.
_GENERATED = {"disagreements.md", "levels.md", "catalog.md", "requirements.md"}
_QUOTED = re.compile(r"`[^`]*`")


def find_hits(root: Path) -> list[Hit]:
    """Return every line of a checkout's prose with each phrase that it contains."""
    return [
        Hit(name, line)
        for line in _iter_prose(root)
        for name, phrase in PHRASES.items()
        if phrase.pattern.search(line.text)
    ]


def _iter_prose(root: Path) -> Iterator[Line]:
    for file in sorted(root.glob("src/**/*.py")):
        path = file.relative_to(root).as_posix()
        for number, text in _iter_python(file.read_text("utf-8")):
            yield Line("src", path, number, text)
    for file in [*sorted(root.glob("docs/**/*.md")), root / "README.md", root / "CONTRIBUTING.md"]:
        if file.name in _GENERATED or not file.is_file():
            continue
        path = file.relative_to(root).as_posix()
        for number, text in _iter_markdown(file.read_text("utf-8")):
            yield Line("docs", path, number, text)
    for suffix in ("html", "js"):
        for file in sorted(root.glob(f"src/**/console/*.{suffix}")):
            path = file.relative_to(root).as_posix()
            for number, text in enumerate(file.read_text("utf-8").split("\n"), 1):
                yield Line("console", path, number, text)


def _iter_python(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and "noqa" not in token.string:
            yield token.start[0], token.string.lstrip("# ")
    for node in ast.walk(ast.parse(source)):
        # Strings of up to three words are keys, names and formats.
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.count(" ") > 2
        ):
            yield from enumerate(node.value.split("\n"), node.lineno)


def _iter_markdown(source: str) -> Iterator[tuple[int, str]]:
    in_fence = False
    for number, line in enumerate(source.split("\n"), 1):
        in_fence ^= line.lstrip().startswith("```")
        if not in_fence:
            yield number, _QUOTED.sub("`x`", line)


def load_limits(file: Path) -> dict[str, int]:
    """Return the limit of each phrase; raises SystemExit if the file names an unknown one."""
    limits: dict[str, int] = tomllib.loads(file.read_text("utf-8")).get("prose", {})
    if unknown := limits.keys() - PHRASES.keys():
        sys.exit(f"{file.name}: unknown phrase {', '.join(sorted(unknown))} in [prose]")
    return limits


def check(root: Path, limits: dict[str, int], *, listed: str | None = None) -> bool:
    """Print all counts, and the hits of each phrase above its limit; return whether all hold."""
    hits = find_hits(root)
    counts = Counter(hit.phrase for hit in hits)
    placed = Counter((hit.phrase, hit.line.place) for hit in hits)
    above = [name for name in PHRASES if counts[name] > limits.get(name, 0)]
    for name, line in hits:
        if name in above or name == listed:
            text = line.text.strip()[:140]
            print(f"{line.path}:{line.number}: {text} [{PHRASES[name].instead}]")
    for tier, goal in ((1, "to reach 0"), (2, "only to go down")):
        print(f"prose, tier {tier}, {goal}:")
        for name in [name for name, phrase in PHRASES.items() if phrase.tier == tier]:
            places = "  ".join(f"{place} {placed[name, place]:3}" for place in PLACES)
            state = _compare(counts[name], limits.get(name, 0))
            print(f"  {name:13} {counts[name]:4}  {places}  {state}")
    return not above


def _compare(count: int, limit: int) -> str:
    if count > limit:
        return f"limit {limit:4}  ABOVE"
    return f"limit {limit:4}" + ("  lower it in tools/limits.toml" if count < limit else "")


def main(arguments: list[str]) -> int:
    """Check a checkout; the exit status is 1 if a count is above its limit."""
    parser = argparse.ArgumentParser(description="Count phrases that are not plain English.")
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--limits", type=Path, default=Path(__file__).with_name("limits.toml"))
    parser.add_argument("--list", dest="listed", choices=PHRASES, help="print all hits of this one")
    given = parser.parse_args(arguments)
    return 0 if check(given.root, load_limits(given.limits), listed=given.listed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
