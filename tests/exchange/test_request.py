"""From entry, plan and key to the request that is sent."""

import msgspec
import pytest

from pondero.canon import Message, Request, Text
from pondero.client import lookup
from pondero.errors import MissingExtra, Unsupported
from pondero.exchange import compose, destination, plan
from pondero.thinking import Asked, Policy, parse

KEY = "sk-very-secret"


def composed(model, key=KEY, level=None, asked=None, **fields):
    entry = lookup().entry(model)
    made = plan(entry, parse(level), asked=asked or Asked(), policy=Policy())
    request = Request(entry.model, (Message("user", (Text("hi"),)),), **fields)
    return compose(entry, request, made, url=entry.provider.url, key=key, at=12.5)


@pytest.mark.parametrize(
    ("model", "header", "value"),
    [
        ("gpt-5.1", "authorization", f"Bearer {KEY}"),
        ("claude-opus-5", "x-api-key", KEY),
        ("gemini-3-flash-preview", "x-goog-api-key", KEY),
        ("azure:gpt-5.1", "api-key", KEY),
        ("llamacpp:any", "authorization", f"Bearer {KEY}"),
    ],
)
def test_each_provider_gets_its_key_where_it_looks_for_it(model, header, value):
    assert composed(model).http.headers[header] == value


def test_without_a_key_nothing_is_said_of_one():
    assert "authorization" not in composed("llamacpp:any", key=None).http.headers


def test_a_key_is_in_no_repr():
    made = composed("gpt-5.1")
    assert KEY not in repr(made)
    assert KEY not in str(made.http.__rich_repr__())


def test_the_origin_says_who_at_which_level_and_when():
    origin = composed("claude-opus-5", level="low").origin
    assert (origin.provider, origin.model, origin.level, origin.at) == ("anthropic", "claude-opus-5", "low", 12.5)  # fmt: skip


def test_what_the_plan_drops_is_not_sent():
    made = composed("claude-opus-5", level="low", asked=Asked(temperature=0.2), temperature=0.2)
    assert "temperature" not in msgspec.json.decode(made.http.body)


def test_stop_sequences_where_the_wire_has_none_are_dropped_and_recorded():
    made = composed("gpt-5.1", stop=("END",))
    assert b"END" not in made.http.body
    assert [note.what for note in made.plan.adjustments] == ["stop"]


def test_signed_requests_need_the_extra():
    entry = lookup().entry("bedrock:anthropic.claude-opus-5")
    with pytest.raises((MissingExtra, Unsupported)):
        compose(
            entry,
            Request(entry.model, ()),
            plan(entry, parse(None), asked=Asked(), policy=Policy()),
            url="",
        )


def test_a_destination_knows_the_other_names_of_its_model():
    to = destination(lookup().entry("google:gemini-3.0-flash"), Policy(foreign="note"))
    assert to.model == "gemini-3-flash-preview"
    assert "gemini-3.0-flash" in to.aliases
    assert to.foreign == "note"
