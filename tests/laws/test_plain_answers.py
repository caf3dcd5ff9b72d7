"""Law: a plain whole answer of the Chat API gives the events that its builder gives."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.canon import ResponseHead
from pondero.client import load_catalog
from pondero.dialects.dialect import AnswerContext
from pondero.dialects.openai_chat.caller import response
from pondero.errors import PonderoError

HEAD = ResponseHead(200, {"content-type": "application/json"})
TEXTS = ("Sunny.", " ", "\n", "<think>", "<think>a</think>b", "a</think>b", "a < b", "", "é\x00")
NOTHING: tuple[Any, ...] = (None, "", [], {})
texts = st.sampled_from((*TEXTS, *NOTHING, [{"type": "text", "text": "a"}], {"a": 1}))
counts = st.sampled_from((None, 0, 3, 7, 10, -1, "7", 2.0, True))
details = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "reasoning_tokens": counts,
        "cached_tokens": counts,
        "audio_tokens": counts,
        "cache_write_tokens": counts,
    },
)
usages = st.sampled_from((*NOTHING, "none")) | st.fixed_dictionaries(
    {"prompt_tokens": counts, "completion_tokens": counts},
    optional={
        "total_tokens": counts,
        "completion_tokens_details": details,
        "prompt_tokens_details": details,
        "prompt_cache_hit_tokens": counts,
        "cost": st.sampled_from((0.1, {"total_cost": 1}, None)),
        "citation_tokens": counts,
    },
)
# Of each place, what a service may write there besides; most answers have next to nothing of it.
RARE_VALUES = (*NOTHING, 0, 1, "x", ["x"], [{"a": 1}], {"a": 1}, True)
RARE = st.sampled_from(RARE_VALUES)
FIELDS: dict[str, tuple[str, ...]] = {
    "message": (
        *("reasoning_details", "tool_calls", "refusal", "function_call", "annotations"),
        *("images", "audio", "extra_content", "thought_signature", "executed_tools"),
        "provider_metadata",
    ),
    "choice": (
        *("index", "native_finish_reason", "content_filter_results", "error", "usage"),
        *("logprobs", "delta"),
    ),
    "answer": (
        *("error", "provider", "service_tier", "x_groq", "citations", "search_results"),
        *("prompt_filter_results", "cost"),
    ),
}


def rare(place: str) -> st.SearchStrategy[dict[str, Any]]:
    names = st.sampled_from(FIELDS[place])
    return st.just({}) | st.dictionaries(names, RARE, max_size=1)


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": draw(texts), **draw(rare("message"))}
    for field in draw(st.lists(st.sampled_from(("reasoning_content", "reasoning")), max_size=2)):
        message[field] = draw(texts)
    choice: dict[str, Any] = {"index": draw(st.sampled_from((0, None, 1))), "message": message}
    choice |= {"finish_reason": draw(st.sampled_from(("stop", "length", "odd", "", None)))}
    choice |= draw(rare("choice"))
    several = draw(st.sampled_from(([choice], [choice], [choice], [choice, choice], [], None)))
    answer: dict[str, Any] = {"choices": several, "usage": draw(usages), **draw(rare("answer"))}
    for name in ("id", "model"):
        answer |= draw(st.sampled_from(({}, {name: "m"}, {name: ""}, {name: None})))
    return json.dumps(answer).encode()


def quirks() -> list[dict[str, Any]]:
    """Return the quirks of every deployment of this API, each once, and none."""
    entries = load_catalog().entries()
    found = [each.quirks for each in entries if each.provider.dialect == "openai_chat"]
    return [{}, *{repr(sorted(each.items())): dict(each) for each in found}.values()]


QUIRKS = quirks()
places = st.builds(
    AnswerContext,
    st.sampled_from((None, "r1")),
    st.sampled_from((None, "deepseek")),
    st.sampled_from(QUIRKS),
    st.sampled_from((0, 0, 0, 1)),
    st.booleans(),
)


def outcome(read: Any, *given: Any) -> Any:
    try:
        return read(*given)
    except PonderoError as error:
        return type(error), str(error), getattr(error, "path", None)


def build(head: ResponseHead, body: bytes, where: AnswerContext) -> Any:
    """Read an answer as if none were plain."""
    return response.events_of(head, body, response.builder_for(where))


@given(bodies(), places)
def test_every_answer_gives_the_events_of_its_builder(body, where):
    assert outcome(response.decode, HEAD, body, where) == outcome(build, HEAD, body, where)


ANSWER = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "service_tier": "default",
    "system_fingerprint": "fp",
    "usage": {
        "prompt_tokens": 9,
        "completion_tokens": 7,
        "total_tokens": 16,
        "completion_tokens_details": {"reasoning_tokens": 3, "audio_tokens": 0},
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
    },
}
MESSAGE: dict[str, Any] = {
    "role": "assistant",
    "content": "Hi.",
    "refusal": None,
    "annotations": [],
}


def answer(**said: Any) -> bytes:
    choice = {"index": 0, "logprobs": None, "finish_reason": "stop", "message": MESSAGE | said}
    return json.dumps(ANSWER | {"choices": [choice]}).encode()


@pytest.mark.parametrize("own", QUIRKS, ids=repr)
def test_the_usual_answers_of_every_deployment_are_plain_and_read_the_same(own, monkeypatch):
    where = AnswerContext("m", "p", own)
    usual = [answer(), answer(reasoning_content="Well.")]
    built = [build(HEAD, body, where) for body in usual]

    def refuse(*_: object) -> None:
        raise AssertionError("it was read by the builder")

    if own.get("thinking_fields", ("reasoning_content",))[0] == "reasoning_content":
        monkeypatch.setattr(response, "_build_events", refuse)
    assert [response.decode(HEAD, body, where) for body in usual] == built


@pytest.mark.parametrize(("place", "name"), [(at, each) for at in FIELDS for each in FIELDS[at]])
def test_a_further_field_is_read_as_the_builder_reads_it(place, name):
    where = AnswerContext("m", "p", {}, logprobs=True)
    for value in RARE_VALUES:
        body = json.loads(answer())
        (choice,) = body["choices"]
        {"answer": body, "choice": choice, "message": choice["message"]}[place][name] = value
        data = json.dumps(body).encode()
        assert outcome(response.decode, HEAD, data, where) == outcome(build, HEAD, data, where)
