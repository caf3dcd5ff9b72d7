"""What was refused once is remembered as its cure, and cured before the next request is sent."""

import json

import pytest
from tests.exchange.driving import exchange
from tests.repairs import repair

import pondero
from pondero.canon import HttpRequest, Origin, Request, SavedRepair, Target
from pondero.client import load_catalog
from pondero.dialects import get_dialect
from pondero.emulator import Emulator
from pondero.errors import BadRequest
from pondero.exchange import make_rejection
from pondero.exchange.prepare_steps.draft import RequestDraft
from pondero.exchange.prepare_steps.rejections import omit_rejected
from pondero.handoff import Rejection

HERE = Origin("openai", "gpt-5.1")
UNVERIFIED = "Your organization must be verified to generate reasoning summaries."
LEVELS = "Unsupported value: 'high' is not supported. Supported values are: 'low', and 'medium'."
BOUND = "messages.1.content.0: this block is bound to a different conversation"
UNKNOWN = "Unrecognized request argument supplied: reasoning_effort"
PLAN = exchange().plan


def http(**fields):
    return HttpRequest("POST", "https://host", {}, json.dumps(fields).encode())


def refusal(name, request, words):
    made = repair(name, request, BadRequest(words, status=400))
    assert made is not None
    return make_rejection(HERE, made)


def sent(name, request, *refusals):
    draft = RequestDraft(
        entry=load_catalog().entry("openai:gpt-5.1"),
        request=Request("gpt-5.1", ()),
        plan=PLAN,
        caller=get_dialect(name).caller(),
        target=Target("openai", "https://host"),
        rejections=refusals,
        http=request,
    )
    made = omit_rejected(draft)
    return json.loads(made.http.body), made.plan.adjustments[len(PLAN.adjustments) :]


@pytest.mark.parametrize(
    ("name", "fields", "words", "cure"),
    [
        ("openai_responses", {"reasoning": {"summary": "auto"}}, UNVERIFIED, SavedRepair("ask for no summary")),
        ("openai_responses", {"reasoning": {"effort": "high"}}, LEVELS, SavedRepair("lower", ("low", "medium"))),
        ("openai_chat", {"reasoning_effort": "high"}, UNKNOWN, SavedRepair("leave out effort")),
        ("ollama", {"think": True}, "'gemma' does not support thinking", SavedRepair("do not think")),
        ("anthropic", {"thinking": {"type": "adaptive"}, "messages": []}, BOUND, SavedRepair("drop bound blocks", at=1)),
    ],
)  # fmt: skip
def test_a_refusal_keeps_the_cure_and_not_the_services_words(name, fields, words, cure):
    found = refusal(name, http(**fields), words)
    assert (found.message, found.signatures, found.cure) == ("", (), cure)


@pytest.mark.parametrize(
    ("name", "fields", "words"),
    [
        ("openai_responses", {"reasoning": {"summary": "auto"}, "input": []}, UNVERIFIED),
        ("openai_responses", {"reasoning": {"effort": "high", "summary": "auto"}}, UNVERIFIED),
        ("openai_responses", {"reasoning": {"effort": "high"}}, LEVELS),
        ("openai_chat", {"reasoning_effort": "high"}, UNKNOWN),
        ("ollama", {"think": True}, "'gemma' does not support thinking"),
        ("anthropic", {"thinking": {"type": "adaptive"}, "messages": []}, BOUND),
    ],
)
def test_the_next_request_is_as_the_repaired_one_was(name, fields, words):
    made = repair(name, http(**fields), BadRequest(words, status=400))
    body, notes = sent(name, http(**fields), refusal(name, http(**fields), words))
    assert body == json.loads(made.request.body)
    assert notes == (made.adjustment,)


def test_of_the_words_a_service_takes_the_nearest_stands_in_for_any_other():
    known = refusal("openai_responses", http(reasoning={"effort": "high"}), LEVELS)
    body, notes = sent("openai_responses", http(reasoning={"effort": "xhigh"}), known)
    assert body == {"reasoning": {"effort": "medium"}}
    assert [(note.asked, note.got) for note in notes] == [("xhigh", "medium")]


@pytest.mark.parametrize(
    "fields", [{}, {"reasoning": {}}, {"reasoning": None}, {"reasoning": {"effort": "low"}}]
)
def test_a_request_that_has_nothing_of_it_stays_as_it_is(fields):
    known = (
        Rejection("p", "m", cure=SavedRepair("ask for no summary")),
        Rejection("p", "m", cure=SavedRepair("lower", ("low", "medium"))),
        Rejection("p", "m", cure=SavedRepair("a cure of a later version")),
        Rejection("p", "m", signatures=("a1",)),
    )
    assert sent("openai_responses", http(**fields), *known) == (fields, ())


def test_what_an_older_version_saved_in_the_services_words_is_still_heeded():
    emulator = Emulator()
    client = pondero.Client(transport=emulator)
    saved = json.loads(pondero.Chat("gpt-5.1/high", client=client).to_json())
    saved["refusals"] = [{"provider": "openai", "model": "gpt-5.1", "message": UNVERIFIED}]
    chat = pondero.Chat.from_json(json.dumps(saved), client=client)
    reply = chat.send("What is 17 * 23?")
    assert "summary" not in emulator.log.entries[0].body["reasoning"]
    assert [note.code for note in reply.plan.adjustments] == ["summary_refused"]
    assert json.loads(chat.to_json())["refusals"] == saved["refusals"]
