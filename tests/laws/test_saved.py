"""Laws of JSON forms: what is read back is what was saved, and it goes on where it stopped."""

import json

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.hazards.talking import PLAIN, SEALING, UNSEALED, calling, get_weather

import pondero
from pondero.canon import (
    Blob,
    CacheBreakpoint,
    Image,
    Message,
    Origin,
    Reply,
    Signature,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownPart,
    Usage,
)
from pondero.dialects import NAMES
from pondero.emulator import Emulator

MODELS = (*SEALING, *PLAIN, *UNSEALED, "bedrock:us.anthropic.claude-sonnet-4-6")
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
maybe = st.none() | words
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
caches = st.none() | st.builds(CacheBreakpoint, maybe)
signatures = st.none() | st.builds(Signature, st.sampled_from(NAMES), plain, maybe, maybe)
texts = st.builds(Text, words, signatures, st.lists(plain, max_size=1).map(tuple), caches)
images = st.builds(
    Image, maybe, st.none() | st.binary(max_size=9), maybe, maybe, caches, signatures
)
blobs = st.builds(
    Blob,
    words,
    st.none() | st.binary(max_size=9),
    maybe,
    maybe,
    caches,
    signatures,
    maybe,
    st.booleans(),
)
others = st.builds(UnknownPart, st.sampled_from(NAMES), plain, signatures)
parts = st.one_of(
    texts,
    images,
    blobs,
    others,
    st.builds(Thinking, words, signatures, st.booleans()),
    st.builds(ToolCall, words, words, plain, signatures, st.booleans(), caches),
    st.builds(
        ToolResult,
        words,
        st.lists(texts | images | blobs | others, max_size=2).map(tuple),
        st.booleans(),
        maybe,
        caches,
    ),
)
origins = st.none() | st.builds(
    Origin, words, words, maybe, st.none() | st.floats(0, 2e9), st.sampled_from([None, "offline"])
)
messages = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant"]),
    st.lists(parts, max_size=4).map(tuple),
    origins,
)
PLANS = [None, *(pondero.plan(model, level) for model in MODELS for level in ("off", "high"))]
counts = st.none() | st.integers(0, 2**40)
replies: st.SearchStrategy[Reply] = st.builds(
    Reply,
    messages,
    st.sampled_from(["stop", "length", "tool_calls", "refusal"]),
    st.builds(Usage, counts, counts, counts, counts, counts, counts),
    st.sampled_from(PLANS),
    st.sampled_from(["as_planned", "exhausted", "unknown"]),
    maybe,
    maybe,
    maybe,
    plain,
    plain,
    plain,
    counts,
)


@given(messages)
@example(Message("user", (Text("half a character: \ud83d"),)))
@example(Message("assistant", (ToolCall("1", "f", {"n": 10**40}),)))
def test_a_message_is_read_back_as_it_was(message):
    assert Message.from_json(message.to_json()) == message


@given(replies)
def test_a_reply_is_read_back_as_it_was(reply):
    again = Reply.from_json(reply.to_json())
    assert again == reply
    assert type(again.plan) is type(reply.plan)


@given(st.lists(messages, max_size=3), st.sampled_from(MODELS))
def test_a_chat_is_read_back_as_it_was(said, model):
    chat = pondero.Chat(f"{model}/high", messages=said, system="Be brief.", max_tokens=9000)
    again = pondero.Chat.from_json(chat.to_json())
    assert again.messages == tuple(said)
    assert again.to_json() == chat.to_json()


@pytest.mark.parametrize("model", MODELS)
def test_a_chat_read_back_goes_on_with_its_tools_at_a_strict_service(model):
    emulator = Emulator(script=[*calling(2), *calling(1)])
    client = pondero.Client(transport=emulator, retry=pondero.Retry(attempts=1))
    chat = pondero.Chat(f"{model}/high", client=client, tools=[get_weather])
    notes = [Blob("text/plain", b"a note", name="n.txt")] if model in SEALING else []
    first = chat.send("Where is it fine?", attachments=notes)
    assert Reply.from_json(first.to_json()) == first
    again = pondero.Chat.from_json(chat.to_json(), client=client, tools=[get_weather])
    second = again.send("And where else?")
    assert [entry.refusal for entry in emulator.log.entries if entry.refusal] == []
    assert second.adjustments == first.adjustments
    signed = [part.signature for each in chat.messages for part in each.parts if _is_signed(part)]
    kept = [part.signature for each in again.messages for part in each.parts if _is_signed(part)]
    assert kept[: len(signed)] == signed


def _is_signed(part):
    return getattr(part, "signature", None) is not None


SAVED = {
    "message": (Message, Message("user", (Text("hello"),)).to_json()),
    "reply": (Reply, Reply(Message("assistant", (Text("hi"),)), "stop").to_json()),
    "chat": (pondero.Chat, pondero.Chat("gpt-5.1").to_json()),
}


@pytest.mark.parametrize("name", SAVED)
def test_a_form_says_what_it_is_and_a_newer_one_is_one_clear_error(name):
    kind, text = SAVED[name]
    raw = json.loads(text)
    assert (raw["format"], raw["version"]) == (f"pondero.{name}", 1)
    newer = json.dumps({**raw, "version": 2, "more": {}})
    words = (
        f"this {name} was saved in version 2 of its format; this pondero reads version 1; update"
    )
    with pytest.raises(pondero.PonderoError, match=words):
        kind.from_json(newer)
    for other in SAVED.keys() - {name}:
        with pytest.raises(pondero.UsageError, match=f"is a saved {other}, not a {name}"):
            kind.from_json(SAVED[other][1])
    for bad in ("", "[]", "{}", "null", text[:-1], b"\xff", "[" * 99_999):
        with pytest.raises(pondero.UsageError, match=f"not a saved {name}"):
            kind.from_json(bad)


@pytest.mark.parametrize("name", SAVED)
def test_keys_that_a_later_version_adds_are_ignored(name):
    kind, text = SAVED[name]
    more = json.dumps({**json.loads(text), "later": [1]})
    assert kind.from_json(more).to_json() == text


def test_no_key_is_in_a_saved_chat_or_reply():
    client = pondero.Client(transport=Emulator(), keys={"anthropic": "sk-planted-secret"})
    chat = pondero.Chat("claude-opus-5/low", client=client)
    reply = chat.send("What is 17 * 23?", headers={"x-team": "blue"})
    assert "secret" not in chat.to_json() + reply.to_json() + reply.message.to_json()


def test_the_type_of_an_answer_is_given_again_when_it_is_read():
    client = pondero.Client(transport=Emulator(script=['{"sum": 391}']))
    reply = client.ask("gpt-5.1/low", "What is 17 * 23?", output=dict[str, int])
    again = Reply.from_json(reply.to_json(), output=dict[str, int])
    assert again == reply
    assert again.value == {"sum": 391}
    with pytest.raises(pondero.WireError, match="dict"):
        _ = Reply.from_json(reply.to_json(), output=dict[str, bytes | list[int]]).value


def test_a_damaged_plan_is_one_clear_error():
    text = Reply(Message("assistant", ()), "stop", plan=PLANS[1]).to_json()
    raw = json.loads(text)
    raw["plan"]["fields"] = 3
    with pytest.raises(pondero.UsageError, match="not a saved reply: Expected `object`"):
        Reply.from_json(msgspec.json.encode(raw))
