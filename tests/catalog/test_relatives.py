"""A name nobody has listed gets the control of its family, or of one of its neighbours."""

import re
from collections import defaultdict
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pondero
from pondero.catalog import Lookup, load_shipped

# Written apart from the code: a number of one or two digits, and perhaps a minor one after it.
_NUMBERED = re.compile(r"^(\D*[a-z/-])(\d{1,2})(?:[.-](\d{1,2}))?(?=$|[-:@])(.*)$")
FINDER = Lookup(load_shipped())


@cache
def _known():
    """Return by provider and line the versions that are catalogued, with the families of each."""
    lines = defaultdict(lambda: defaultdict(set))
    planted = []
    for provider, name, family in _rows():
        if found := _NUMBERED.match(name.lower()):
            line, major, minor, tail = found.groups()
            version = (int(major), int(minor or 0))
            lines[provider, line][version].add(family)
            planted.append((provider, line, version, tail, family))
    return lines, planted


def _rows():
    catalog = FINDER.catalog
    for provider in catalog.providers.values():
        for group in provider.families:
            for family in catalog.groups[group].family:
                for name in family.match:
                    if "*" not in name:
                        yield provider.name, name, family.name


def _newest(provider, line):
    """Return the families that a row calls the newest of a line; they may be any number above."""
    found = FINDER.catalog.providers[provider]
    return {
        family.name
        for group in found.families
        for family in FINDER.catalog.groups[group].family
        if any(line.startswith(each.lower()) or each.startswith(line) for each in family.newest_of)
    }


@given(st.data())
def test_a_slightly_older_or_newer_name_gets_its_family_or_a_neighbour(data):
    lines, planted = _known()
    provider, line, (major, minor), tail, family = data.draw(st.sampled_from(planted))
    version = data.draw(
        st.sampled_from([(major, minor + 1), (major, max(0, minor - 1)), (major + 1, 0)])
    )
    name = f"{provider}:{line}{version[0]}{f'.{version[1]}' if version[1] else ''}{tail}"
    entry = FINDER.entry(name)
    if not entry.inferred or entry.why == "word":
        return
    known = lines[provider, line]
    below = max((each for each in known if each <= version), default=None)
    above = min((each for each in known if each > version), default=None)
    around = {family} | known.get(below, set()) | known.get(above, set())
    if above is None:
        around |= _newest(provider, line)
    assert entry.family in around, (name, entry.family, entry.like, around)
    assert entry.like


@pytest.mark.parametrize(
    ("text", "like", "why"),
    [
        ("openai:gpt-5.9-mini", "gpt-5.6", "closest earlier version"),
        ("anthropic:claude-opus-4-9", "claude-opus-4-8", "closest earlier version"),
        ("anthropic:claude-opus-6", "claude-opus-5-5", "newest known version"),
        ("anthropic:claude-4.9-haiku", "claude-4-6-sonnet", "newest known version"),
        ("google:gemini-3.9-flash", "gemini-3.8-flash", "closest earlier version"),
        ("bedrock:openai.gpt-5.3", "openai.gpt-5.4", "oldest known version"),
        ("zai:glm-4.1", "glm-4.5", "oldest known version"),
        ("xai:grok-5", "grok-4.7", "newest known version"),
        ("anthropic:claude-opus", "claude-opus-5-5", "newest known version"),
    ],
)
def test_a_guess_says_whom_it_took_and_why(text, like, why):
    (note,) = pondero.plan(text).adjustments
    assert note.code == "unknown_model"
    assert f"treated like {like}, the {why}" in note.why


@pytest.mark.parametrize("text", ["openai:gpt-oss-40b", "mistral:mistral-small-2611"])
def test_a_size_and_a_date_are_no_version(text):
    assert FINDER.entry(text).why == "newest"
