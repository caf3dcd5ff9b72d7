"""No request that the library prepares is one that the service's table rejects.

Whatever is asked (``adversary``) of a model of every family of every provider: what would be
rejected is changed and reported; if nothing is left to send, the library itself says so.
"""

import os

import pytest

import pondero
from pondero.canon import Message, Text, ToolResult, UnknownPart
from pondero.catalog import ModelEntry
from pondero.client import load_catalog
from pondero.dialects import NAMES, Rejected
from pondero.emulator import Emulator
from pondero.emulator.routes import find_route
from pondero.errors import BadParameter

from .adversary import Ask, draw, shrink

CLIENT = pondero.Client(transport=Emulator())
DRAWN = {"quick": 3, "deep": 400}.get(os.environ.get("HYPOTHESIS_PROFILE", "ci"), 20)


def families() -> dict[str, list[ModelEntry]]:
    """Return one model of each family, by the provider that serves it."""
    lookup = load_catalog()
    providers = [each for each in lookup.catalog.providers.values() if each.dialect in NAMES]
    return {
        each.name: list({entry.family: entry for entry in lookup.entries(each.name)}.values())
        for each in providers
    }


FAMILIES = {name: entries for name, entries in families().items() if entries}


def rejection(entry: ModelEntry, ask: Ask) -> str | None:
    """Return the rule that rejects what the library would send, or None."""
    options = dict(ask)
    prompt, level = options.pop("prompt"), options.pop("thinking")
    sent = CLIENT.prepare(entry.id, prompt, level, **options).request
    to = find_route(sent.url)
    assert to is not None
    try:
        to.wire.service().accept(sent, to.provider)
    except Rejected as no:
        return f"{no.rule}: {no.response.body.decode()}"
    return None


def rule_of(entry: ModelEntry, ask: Ask) -> str:
    """Return the name of the rule that rejects what is asked, or an empty text."""
    try:
        return (rejection(entry, ask) or "").partition(":")[0]
    except BadParameter:  # as soon as nothing is left to send
        return ""


@pytest.mark.parametrize("provider", FAMILIES)
def test_no_prepared_request_is_rejected(provider):
    shown: dict[str, str] = {}
    for entry in FAMILIES[provider]:
        for number in range(DRAWN):
            ask = draw(f"{entry.id} {number}")
            said = rejection(entry, ask)
            if said is not None and (rule := said.partition(":")[0]) not in shown:
                least = shrink(ask, lambda less, e=entry, r=rule: rule_of(e, less) == r)
                shown[rule] = f"{entry.id}: {said}\n    {least}"
    assert not shown, "\n".join(f"{rule}: {each}" for rule, each in shown.items())


@pytest.mark.parametrize("provider", FAMILIES)
def test_a_system_prompt_alone_is_not_rejected(provider):
    ask = {"prompt": [Message("system", (Text("Say hello."),))], "thinking": None}
    rejected = {entry.id: rule_of(entry, ask) for entry in FAMILIES[provider]}
    assert set(rejected.values()) == {""}, rejected


@pytest.mark.parametrize("provider", FAMILIES)
@pytest.mark.parametrize(
    "part",
    [Text(""), ToolResult("never_called", (Text("x"),)), UnknownPart("no_dialect", {"type": "x"})],
)
def test_a_conversation_of_which_nothing_is_left_is_not_sent(provider, part):
    with pytest.raises(BadParameter, match="nothing of this conversation can be sent"):
        CLIENT.prepare(FAMILIES[provider][0].id, [Message("user", (part,))])
