"""What a client sends back is what it was, and never what it was not."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gateway.answer_strategies import (
    ENVELOPES,
    FRONTS,
    answers,
    calls,
    kept_by,
    numbered,
    restore_history,
    tellings,
    texts,
    thoughts,
)

from pondero.canon import (
    CacheBreakpoint,
    Image,
    Message,
    Origin,
    Part,
    Request,
    Signature,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from pondero.dialects import get_dialect
from pondero.gateway.signatures.embedder import SignatureEmbedder
from pondero.gateway.signatures.restore import cache_items, cache_keys, restore_in_steps
from pondero.gateway.state.answer_cache import CachedAnswer

QUESTION = Message("user", (Text("what is in here?"),))
CLIENT = "a client"


def carried(front: str, message: Message, seed: bytes = b"seed") -> SignatureEmbedder:
    service = get_dialect(front).service()
    assert message.origin is not None
    return SignatureEmbedder(
        service.slots,
        message.origin,
        pack=ENVELOPES.pack,
        seed=seed,
        call_id=service.call_id,
        text_inside=False,
    )


def asked(*messages: Message) -> Request:
    return Request("m", messages)


def results(message: Message) -> Message:
    parts = [ToolResult(call.id, (Text(f"of {n}"),)) for n, call in enumerate(message.tool_calls)]
    return Message("user", tuple(parts) or (Text("and then?"),))


def bare(message: Message, *, ids: bool = True) -> Message:
    """Return what a client keeps that keeps least: the words, and calls with their ids."""
    kept: list[Part] = [Text(message.text)] if message.text else []
    for number, call in enumerate(message.tool_calls):
        id = call.id if ids else f"minted{number}"
        kept.append(ToolCall(id, call.name, call.arguments, minted=not ids))
    return Message("assistant", tuple(kept))


def seen(message: Message) -> Any:
    """Return what a client sees of a message."""
    content = [part.content for part in message.parts if isinstance(part, ToolResult)]
    return message.text, [(c.name, c.arguments) for c in message.tool_calls], content


def merged(messages: tuple[Message, ...]) -> list[Any]:
    """Return what is seen of each turn; neighbouring answers are one."""
    turns: list[Message] = []
    for message in messages:
        if turns and turns[-1].role == message.role:
            turns[-1] = replace(turns[-1], parts=(*turns[-1].parts, *message.parts))
        else:
            turns.append(message)
    return [seen(turn) for turn in turns]


def test_a_long_history_is_restored_in_steps_between_which_others_go_on():
    """Each of its envelopes is decrypted, which together would hold the event loop too long."""
    turns = [asked(QUESTION, Message("assistant", (Text(f"{at}"),))).messages for at in range(40)]
    request = asked(*(message for turn in turns for message in turn))
    steps = restore_in_steps(
        request, "anthropic", client=CLIENT, found={}, open_envelope=ENVELOPES.open
    )
    assert len([*steps]) == 80 // 16
    assert restore_history(request, "anthropic", client=CLIENT, found={}) == request


# -- envelopes -------------------------------------------------------------------------------------

KEEPING = [name for name in FRONTS if get_dialect(name).service().slots.thinking]


@pytest.mark.parametrize("front", KEEPING)
@settings(max_examples=25)
@given(answers())
def test_a_client_that_keeps_all_gives_every_seal_back_to_its_maker(front, message):
    """With nothing remembered: ids, seals, hidden parts and the origin, byte for byte."""
    message = replace(message, parts=(Thinking("hm"), *message.parts, Text("that is all")))
    shown = carried(front, message).whole(message)
    request = asked(QUESTION, shown, results(shown))
    _, answer, answered = restore_history(request, front, client=CLIENT, found={}).messages
    assert answer == kept_by(front, message)
    assert [r.call_id for r in answered.parts if isinstance(r, ToolResult)] == [
        call.id for call in message.tool_calls
    ]


@settings(max_examples=25)
@given(answers(texts | calls | thoughts))
def test_thoughts_folded_on_other_parts_come_back_before_them(message):
    """Gemini: thought parts never come back, and each chunk is a content of its own."""
    message = replace(message, parts=(*message.parts, Text("that is all")))
    one = carried("gemini", message)
    shown = one.whole(message)
    chunks: list[Message] = []
    for part in shown.parts:
        if isinstance(part, Text) and len(part.text) > 1:
            halves = replace(part, text=part.text[:1]), Text(part.text[1:])
            chunks += (Message("assistant", (half,)) for half in halves)
        elif not isinstance(part, Thinking):
            chunks.append(Message("assistant", (part,)))
    back = restore_history(asked(QUESTION, *chunks), "gemini", client=CLIENT, found={}).messages
    if any(part.signature for part in shown.parts):
        assert len(back) == 2
        assert back[1].origin == message.origin
        assert [p for p in back[1].parts if isinstance(p, Thinking | ToolCall)] == [
            p for p in message.parts if isinstance(p, Thinking | ToolCall)
        ]
    assert merged(back)[1] == seen(message)


def test_a_slot_of_the_front_maker_stays_as_it_came():
    own = Message("assistant", (Thinking("hm", Signature("anthropic", "EqQB...")), Text("yes")))
    request = asked(QUESTION, own, QUESTION)
    assert restore_history(request, "anthropic", client=CLIENT, found={}) == request


def test_ids_that_the_front_wire_put_beside_our_parts_are_taken_out():
    message = Message("assistant", (Thinking("hm"), Text("yes")), Origin("google", "g"))
    shown = carried("openai_responses", message).whole(message)
    beside = Signature("openai_responses", {"item": {"id": "msg_1"}, "after": "rs_1"})
    sent = Message("assistant", (shown.parts[0], Text("yes", beside)))
    back = restore_history(asked(QUESTION, sent), "openai_responses", client=CLIENT, found={})
    assert back.messages[1] == message


def test_two_answers_side_by_side_stay_two():
    one = Message("assistant", (Thinking("hm"), Text("a")), Origin("google", "g"))
    two = Message("assistant", (Thinking("so"), Text("b")), Origin("openai", "o"))
    shown = [carried("anthropic", m, seed).whole(m) for m, seed in ((one, b"1"), (two, b"2"))]
    both = Message("assistant", (*shown[0].parts, *shown[1].parts))
    for sent in ([both], shown):
        back = restore_history(asked(QUESTION, *sent), "anthropic", client=CLIENT, found={})
        assert back.messages[1:] == (one, two)


def test_calls_without_ids_are_paired_by_order_and_name():
    parts = (
        Thinking("hm"),
        ToolCall("a", "ls", {"n": 1}, Signature("gemini", "1")),
        ToolCall("b", "cat", {}, Signature("gemini", "2")),
        ToolCall("c", "ls", {"n": 2}, Signature("gemini", "3")),
    )
    message = Message("assistant", parts, Origin("google", "g"))
    shown = carried("anthropic", message).whole(message)
    nameless = tuple(
        replace(part, id=f"m{n}", minted=True) if isinstance(part, ToolCall) else part
        for n, part in enumerate(shown.parts)
    )
    sent = Message("assistant", nameless)
    back = restore_history(
        asked(QUESTION, sent, results(sent)), "anthropic", client=CLIENT, found={}
    )
    assert back.messages[1] == message
    assert [part.call_id for part in back.messages[2].parts] == ["a", "b", "c"]


# -- memory ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("ids", [True, False])
@settings(max_examples=25)
@given(answers(), st.data())
def test_a_client_that_keeps_only_words_and_calls_is_helped_by_the_memory(
    front, ids, message, data
):
    one = carried(front, message)
    events = [e for batch in data.draw(tellings(message)) for e in one.feed(batch)]
    assert events
    found = cache_items(asked(QUESTION), one.record, client=CLIENT)
    pairs = zip(message.tool_calls, one.record.calls, strict=True)
    shown = (Text(one.record.text), *(replace(call, id=id) for call, id in pairs))
    sent = bare(Message("assistant", shown), ids=ids)
    request = asked(QUESTION, sent, results(sent))
    assert not ids or set(found) <= set(cache_keys(request, client=CLIENT))
    back = restore_history(request, front, client=CLIENT, found=found)
    if sent.parts:
        assert back.messages[1] == message
        answered = [p.call_id for p in back.messages[2].parts if isinstance(p, ToolResult)]
        assert answered == [call.id for call in message.tool_calls]
    assert restore_history(request, front, client=CLIENT, found={}) == request
    assert not set(cache_keys(request, client="another")) & set(found)


@pytest.mark.parametrize("front", FRONTS)
@settings(max_examples=25)
@given(st.data())
def test_what_the_client_sent_is_never_replaced(front, data):
    """Whatever is remembered under its keys, and whatever envelopes it holds."""
    conversation: list[Message] = []
    found: dict[str, bytes] = {}
    records: list[CachedAnswer] = []
    for number in range(data.draw(st.integers(1, 3))):
        message = data.draw(answers(texts | calls | thoughts, stem=f"own{number}_"))
        one = carried(front, message, seed=b"%d" % number)
        shown = one.whole(message)
        conversation.append(QUESTION)
        found |= cache_items(asked(*conversation), one.record, client=CLIENT)
        records.append(one.record)
        conversation += (edited(shown, data), results(shown))
    request = asked(*conversation)
    keys = cache_keys(request, client=CLIENT)
    if data.draw(st.booleans()):  # another answer than the key is of
        wrong = records[0]
        found = dict.fromkeys(keys, cache_items(asked(), wrong, client="x").popitem()[1])
    back = restore_history(request, front, client=CLIENT, found=found)
    assert merged(back.messages) == merged(request.messages)
    assert paired(back.messages) == paired(request.messages)


def paired(messages: tuple[Message, ...]) -> list[bool]:
    """Return of each result whether there is a call that it answers."""
    ids = {call.id for message in messages for call in message.tool_calls}
    return [
        part.call_id in ids
        for message in messages
        for part in message.parts
        if isinstance(part, ToolResult)
    ]


def edited(message: Message, data: st.DataObject) -> Message:
    """Return an answer as a client may have changed it."""
    parts: list[Part] = []
    for part in message.parts:
        change = data.draw(st.sampled_from(["keep", "keep", "drop", "unseal", "words"]))
        match part:
            case _ if change == "drop":
                continue
            case Text() if change == "words":
                parts.append(replace(part, text=part.text + "!"))
            case ToolCall() if change == "words":
                parts.append(replace(part, arguments={"edited": True}))
            case _ if change == "unseal":
                parts.append(replace(part, signature=None))
            case _:
                parts.append(part)
    return Message("assistant", tuple(parts) or (Text("nothing"),))


def test_two_turns_with_the_same_words_each_get_their_own_back():
    said = [
        Message(
            "assistant",
            (Thinking(f"hm {n}", Signature("gemini", n)), Text("yes")),
            Origin("g", "g"),
        )
        for n in range(3)
    ]
    conversation: list[Message] = []
    found: dict[str, bytes] = {}
    for number, message in enumerate(said):
        one = carried("ollama", message, seed=b"%d" % number)
        shown = one.whole(message)
        conversation.append(QUESTION)
        found |= cache_items(asked(*conversation), one.record, client=CLIENT)
        conversation.append(bare(shown))
    back = restore_history(asked(*conversation), "ollama", client=CLIENT, found=found)
    assert list(back.messages[1::2]) == said


@pytest.mark.parametrize("ids", [True, False])
def test_the_same_words_with_and_without_a_call_are_two_answers(ids):
    """Found by words alone, one would delete the other's call."""
    plain = Message("assistant", (Thinking("a"), Text("I look")), Origin("g", "g"))
    call = ToolCall("own", "ls", {}, Signature("gemini", "s"))
    calling = Message("assistant", (Thinking("b"), Text("I look"), call), Origin("g", "g"))
    found: dict[str, bytes] = {}
    shown = []
    for message in (calling, plain):
        one = carried("openai_chat", message)
        shown.append(bare(one.whole(message), ids=ids))
        found |= cache_items(asked(QUESTION), one.record, client=CLIENT)
    for sent, message in zip(shown, (calling, plain), strict=True):
        back = restore_history(asked(QUESTION, sent), "openai_chat", client=CLIENT, found=found)
        assert back.messages[1] == message


def test_an_envelope_counts_more_than_the_same_words_in_another_conversation():
    one, other = (
        Message("assistant", (Thinking(each), Text("yes")), Origin(each, "m")) for each in "ab"
    )
    shown = carried("anthropic", one, b"1").whole(one)
    latest = carried("anthropic", other, b"2")
    latest.whole(other)
    found = cache_items(asked(QUESTION), latest.record, client=CLIENT)
    back = restore_history(asked(QUESTION, shown), "anthropic", client=CLIENT, found=found)
    assert back.messages[1] == one
    words = restore_history(asked(QUESTION, bare(shown)), "anthropic", client=CLIENT, found=found)
    assert words.messages[1] == other  # all that is known of these words


def test_a_call_alone_is_remembered_where_the_turn_is_another():
    """The client left the words and the first call out; the second still has its seal and id."""
    parts = (
        Text("I look"),
        ToolCall("a", "ls", {}),
        ToolCall("b", "cat", {}, Signature("gemini", "s")),
    )
    message = Message("assistant", parts, Origin("google", "g"))
    one = carried("ollama", message)
    shown = one.whole(message)
    found = cache_items(asked(QUESTION), one.record, client=CLIENT)
    kept = shown.tool_calls[1]
    for sent in ((kept,), (Text("changed"), kept)):
        request = asked(QUESTION, Message("assistant", sent))
        back = restore_history(request, "ollama", client=CLIENT, found=found).messages[1]
        assert back.parts == (*sent[:-1], parts[2])
        assert back.origin == message.origin
    changed = replace(kept, arguments={"path": "/"})
    request = asked(QUESTION, Message("assistant", (changed,)))
    assert restore_history(request, "ollama", client=CLIENT, found=found) == request


def test_marks_of_the_client_stay_on_what_is_remembered():
    message = Message(
        "assistant", (Thinking("hm"), Text("yes"), ToolCall("a", "ls", {})), Origin("g", "g")
    )
    one = carried("anthropic", message)
    shown = bare(one.whole(message))
    found = cache_items(asked(QUESTION), one.record, client=CLIENT)
    marked = tuple(replace(part, cache=CacheBreakpoint("1h")) for part in shown.parts)
    sent = Message("assistant", marked)
    back = restore_history(asked(QUESTION, sent), "anthropic", client=CLIENT, found=found).messages[
        1
    ]
    assert back.parts == (
        Thinking("hm"),
        Text("yes", cache=CacheBreakpoint("1h")),
        ToolCall("a", "ls", {}, cache=CacheBreakpoint("1h")),
    )


def test_a_picture_that_the_answer_did_not_have_is_kept():
    message = Message("assistant", (Thinking("hm"), Text("yes")), Origin("g", "g"))
    one = carried("ollama", message)
    one.whole(message)
    found = cache_items(asked(QUESTION), one.record, client=CLIENT)
    sent = Message("assistant", (Text("yes"), Image("image/png", b"png")))
    request = asked(QUESTION, sent)
    assert restore_history(request, "ollama", client=CLIENT, found=found) == request


def test_numbers_that_javascript_wrote_again_are_the_same_arguments():
    message = Message("assistant", (ToolCall("a", "ls", {"n": 1.0, "b": True}),), Origin("g", "g"))
    one = carried("ollama", message)
    (call,) = one.whole(message).tool_calls
    found = cache_items(asked(QUESTION), one.record, client=CLIENT)
    for arguments, own in (({"b": True, "n": 1}, "a"), ({"b": 1, "n": 1}, call.id)):
        sent = Message("assistant", (replace(call, arguments=arguments),))
        back = restore_history(asked(QUESTION, sent), "ollama", client=CLIENT, found=found)
        assert back.messages[1].tool_calls[0].id == own


def test_a_record_of_another_version_is_none():
    request = asked(QUESTION, Message("assistant", (Text("yes"),)))
    found = dict.fromkeys(cache_keys(request, client=CLIENT), b'{"answer": 7}')
    assert restore_history(request, "ollama", client=CLIENT, found=found) == request


# -- results ---------------------------------------------------------------------------------------


def test_a_result_that_came_twice_is_dropped():
    sent = Message("assistant", (ToolCall("a", "ls", {}), ToolCall("b", "ls", {})))
    one, two = (ToolResult(id, (Text(id),)) for id in "ab")
    request = asked(
        QUESTION, sent, Message("user", (two, one, two)), Message("user", (one,)), QUESTION
    )
    back = restore_history(request, "openai_chat", client=CLIENT, found={})
    assert back.messages == (QUESTION, sent, Message("user", (two, one)), QUESTION)


def test_an_answer_is_remembered_where_the_result_before_it_came_twice():
    call = Message("assistant", (ToolCall("a", "ls", {}),))
    result = Message("user", (ToolResult("a", (Text("x"),)),))
    said = Message(
        "assistant", (Thinking("hm", Signature("gemini", 1)), Text("y")), Origin("g", "g")
    )
    one = carried("gemini", said)
    shown = bare(one.whole(said))
    found = cache_items(asked(QUESTION, call, result), one.record, client=CLIENT)
    for again in (Message("user", result.parts * 2), result), (result, result, result):
        request = asked(QUESTION, call, *again, shown, QUESTION)
        back = restore_history(request, "gemini", client=CLIENT, found=found)
        assert back.messages == (QUESTION, call, result, said, QUESTION)


def test_a_call_that_uses_an_id_again_gets_its_own_result():
    sent = Message("assistant", (ToolCall("a", "ls", {}),))
    result = Message("user", (ToolResult("a", (Text("x"),)),))
    request = asked(QUESTION, sent, result, sent, result)
    assert restore_history(request, "openai_chat", client=CLIENT, found={}) == request


def test_numbered_gives_every_call_its_own_id():
    assert [p.id for p in numbered((ToolCall("", "f", {}),) * 2, "x")] == ["x0", "x1"]
