"""A client that knows a question but for its text prepares the same request as one that does not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pondero import Client, Text
from pondero.catalog import ModelEntry
from pondero.client import base_client, load_catalog
from pondero.dialects import NAMES
from pondero.emulator import Emulator
from pondero.errors import PonderoError
from pondero.exchange import KnownQuestions, Prepared, QuestionNeeds, known_questions, plan
from pondero.handoff import Rejection
from pondero.thinking import Policy, RequestParameters, parse_intent

# What some dialect or service might read in a text, or might not write as it is.
TEXTS = (
    *(
        "Why?",
        " led and followed ",
        "two\nlines",
        'say "hi"',
        "back\\slash",
        "\u00a0x",
        "\x00",
        "\x7f",
    ),
    *(
        "caf\u00e9 \u2192 \U0001f600",
        "a \u2028 b",
        "</think>",
        "<think>",
        "/no_think",
        "/think",
        "[1]",
    ),
    *("{}", "null", "true", "1", "role", "user", "text", "system", "x" * 8192, "\ud800", "a\udfff"),
    known_questions._TRIED,
    known_questions._TRIED * 2,
)
BLANK = (" ", "\n\t", "\u3000")
WARM_UP = ("What is 17 * 23?", "And 18 * 23?", "Thanks!")


def models() -> list[ModelEntry]:
    """Return one model for each family at each provider whose API we have."""
    entries = load_catalog().entries()
    kinds = {(each.provider.name, each.family): each for each in reversed(entries)}
    return [each for each in kinds.values() if each.provider.dialect in NAMES]


def needs(entry: ModelEntry, **more: Any) -> QuestionNeeds:
    usual: dict[str, Any] = {"key": "k", "emulator": None, "policy": Policy(), "stream": True}
    return QuestionNeeds(**{**usual, "url": entry.provider.url, "system": "", **more})


def ask(known: KnownQuestions, entry: ModelEntry, text: str, **more: Any) -> Prepared:
    level, at = more.pop("level", "high"), more.pop("at", 1.5)
    made = plan(entry, parse_intent(level), asked=RequestParameters(), policy=Policy())
    return known.prepare(entry, text, made, needs=needs(entry, **more), at=at)


def outcome(prepare: Any, *given: Any, **more: Any) -> Any:
    try:
        return prepare(*given, **more)
    except (PonderoError, UnicodeError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("entry", models(), ids=lambda entry: entry.id)
def test_every_model_gets_the_same_request_from_a_client_that_knows_the_question(entry):
    for level, more in (
        (None, {}),
        ("off", {}),
        ("high", {"stream": False, "system": "Be brief."}),
    ):
        known = KnownQuestions()
        for text in WARM_UP:
            ask(known, entry, text, level=level, at=0.5, **more)
        (kept,) = known._known.values()
        assert kept is not None
        assert kept.around is not None or "system" in more  # some take it in the question
        for text in (*TEXTS, *BLANK):
            expected = outcome(ask, KnownQuestions(), entry, text, level=level, **more)
            assert outcome(ask, known, entry, text, level=level, **more) == expected


ONE_OF_EACH = tuple({entry.provider.dialect: entry for entry in models()}.values())
KNOWN = {entry.id: KnownQuestions() for entry in ONE_OF_EACH}


@given(st.sampled_from(ONE_OF_EACH), st.text(min_size=1), st.sampled_from(("", "Be brief.")))
def test_any_text_is_sent_as_if_it_were_the_first(entry, text, system):
    for words in (*WARM_UP, text):
        found = outcome(ask, KNOWN[entry.id], entry, words, system=system)
    assert found == outcome(ask, KnownQuestions(), entry, text, system=system)


OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"stream": False},
    {"system": "Be brief."},
    {"system": "Be brief.", "stream": False},
    {"policy": {"unsupported": "strict"}},
    {"policy": {"cap": "low"}},
    {"thinking_effort": "low"},
    {"headers": {"x-team": "search"}},
    {"timeout": 3},
    {"max_tokens": 9_000},
    {"cache": True},
    {"temperature": 1},
)
LEVELS_ASKED: tuple[Any, ...] = (
    *(None, "off", "high", "max", True, False, 1, 2_048, "2k"),
    *(
        {"thinking": {"type": "enabled", "budget_tokens": count}}
        for count in (2_048, 2_048.0, 1, True)
    ),
)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("claude-opus-5", "claude-sonnet-4-5", "gpt-5.1", "ollama:qwen3")),
            st.sampled_from((*TEXTS, *WARM_UP)),
            st.sampled_from(LEVELS_ASKED),
            st.sampled_from(OPTIONS),
        ),
        min_size=6,
        max_size=20,
    ).map(lambda asked: asked * 3)
)
def test_a_client_prepares_a_text_as_it_does_a_list_of_one_text(asked):
    """A list is never known, so that it is always prepared as a whole."""
    client = Client(transport=Emulator())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base_client, "time", lambda: 1.5)
        for model, text, level, options in asked:
            found = outcome(client.prepare, model, text, level, **options)
            expected = outcome(client.prepare, model, [Text(text)], level, **options)
            assert found == expected
            if isinstance(found, Prepared):
                assert found.request.body == expected.request.body
                _spoil(found)


def _spoil(prepared: Prepared) -> None:
    """Change what a caller can change of its request."""
    prepared.request.headers["x-other"] = "1"  # type: ignore[index]  # that it is a dict is not said
    prepared.plan.fields["other"] = 1
    prepared.plan.headers["other"] = "1"


def prepare_thrice(client: Client, **options: Any) -> Prepared:
    return [client.prepare("claude-opus-5", "Why?", "high", **options) for _ in range(3)][-1]


def test_a_new_key_or_address_is_used_at_once(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-one-0123456789")
    client = Client()
    assert prepare_thrice(client).request.headers["x-api-key"] == "sk-ant-one-0123456789"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-two-0123456789")
    assert prepare_thrice(client).request.headers["x-api-key"] == "sk-ant-two-0123456789"
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    assert prepare_thrice(client).request.url == "http://127.0.0.1:1/v1/messages"


def test_a_catalog_that_was_read_again_is_used_at_once():
    entry = load_catalog().entry("claude-opus-5")
    known = KnownQuestions()
    for text in WARM_UP:
        ask(known, entry, text, level=None)
    shorter = replace(entry, capability=replace(entry.capability, max_output=4_321))
    made = plan(entry, parse_intent(None), asked=RequestParameters(), policy=Policy())
    for text in WARM_UP:
        sent = known.prepare(shorter, text, made, needs=needs(entry), at=1.5)
        assert b'"max_tokens":4321' in sent.request.body


def test_a_plan_that_changed_is_used_at_once():
    known, entry = KnownQuestions(), load_catalog().entry("claude-opus-5")
    made = plan(entry, parse_intent("high"), asked=RequestParameters(), policy=Policy())
    for changed in (
        made,
        replace(made, headers={"anthropic-beta": "x"}),
        replace(made, level="low"),
    ):
        for text in WARM_UP:
            sent = known.prepare(entry, text, changed, needs=needs(entry), at=1.5)
            assert sent.plan == changed
            assert sent.request.headers.get("anthropic-beta") == changed.headers.get(
                "anthropic-beta"
            )
            assert sent.exchange.origin.level == changed.level


def test_what_a_caller_changes_in_its_request_is_in_no_other():
    client = Client(transport=Emulator())
    one, two = prepare_thrice(client), prepare_thrice(client)
    _spoil(one)
    assert one.request.headers.keys() - two.request.headers.keys() == {"x-other"}
    assert one.plan.fields.keys() - two.plan.fields.keys() == {"other"}
    assert two.plan.headers == {}


def test_a_part_that_a_service_rejected_before_is_not_sent_in_a_known_question(monkeypatch):
    client, seen = Client(transport=Emulator()), []
    monkeypatch.setattr(
        base_client, "prepare", lambda *_, refusals, **__: seen.append(refusals) or fail()
    )
    prepare_thrice(client)
    client._remember(refusal := Rejection("anthropic", "claude-opus-5", "anything"))
    with pytest.raises(NotImplementedError):
        client.prepare("claude-opus-5", "Why?", "high")
    assert seen == [(refusal,)]


def fail() -> None:
    raise NotImplementedError


def test_only_so_many_questions_are_kept_and_none_that_came_once():
    known, entry = KnownQuestions(), load_catalog().entry("claude-opus-5")
    for number in range(600):
        ask(known, entry, "Why?", system=str(number))
    assert set(known._known.values()) == {None}
    assert len(known._known) <= known_questions._MOST


def test_a_key_is_in_no_description():
    assert "k-secret" not in repr(needs(load_catalog().entry("claude-opus-5"), key="k-secret"))
