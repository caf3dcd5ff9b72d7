"""Laws of the handoff, over threads of any shape and destinations of any kind."""

import re
from collections import Counter
from itertools import pairwise, product, starmap
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.json import encode
from msgspec.structs import replace

from pondero.canon import (
    Blob,
    Image,
    Message,
    Origin,
    Part,
    ReplayRules,
    Signature,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownPart,
)
from pondero.handoff import Destination, View, handoff

# -- threads of any shape --------------------------------------------------------------------

DIALECTS, MODELS, PLACES = ("red", "blue"), ("m1", "m2"), ("north", "south")
WORDS = ("", "some words", "\u00e9\U0001f600", "\ud83d\ude00", "a\ud83db", "\ude00\ud83d")
IDS = ("call_1", "call_2", "c|3", "", "x" * 80, "abcdefghi", "\udc00", "id.4")
ARGUMENTS: tuple[Any, ...] = (
    {},
    {"a": [1, {"b": "\ud83d"}]},
    {"\udc00": 2**70},
    "{not json",
    {"a": "b"},
)
SEALS = [
    None,
    *starmap(Signature, product(DIALECTS, [{"k": ["v"]}], (None, *MODELS), (None, *PLACES))),
]

# One draw a part: every combination is there already.
texts = st.sampled_from([*starmap(Text, product(WORDS, SEALS, [(), ({"url": "u"},)]))])
thoughts = st.sampled_from([*starmap(Thinking, product(WORDS, SEALS, [False, True]))])
media = st.sampled_from(
    [
        *(Image(kind, b"png", signature=seal) for kind in (None, "image/png") for seal in SEALS),
        *(
            Blob(k, url="u", signature=seal)
            for k in ("application/pdf", "audio/wav")
            for seal in SEALS
        ),
    ]
)
others = st.sampled_from([UnknownPart(d, {"type": "new"}, s) for d in DIALECTS for s in SEALS])
calls = st.sampled_from(
    [*starmap(ToolCall, product(IDS, WORDS[:4], ARGUMENTS, SEALS, [False, True]))]
)
contents = st.lists(texts | media | others, max_size=2).map(tuple)
results = st.builds(ToolResult, st.sampled_from(IDS), contents, st.booleans())
parts = texts | thoughts | media | others | calls | calls | results | results
messages = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "assistant", "system"]),
    st.lists(parts, max_size=5).map(tuple),
    st.sampled_from([None, *starmap(Origin, product(PLACES, MODELS))]),
)
threads = st.lists(messages, max_size=7)


def last_thoughts(parts):
    """The thinking that nothing follows, as a wire names it that takes only both."""
    end = max((n for n, part in enumerate(parts) if not isinstance(part, Thinking)), default=-1)
    return dict.fromkeys(range(end + 1, len(parts)), "nothing follows it")


taken = st.sampled_from([(), ("",), ("image/",), ("application/pdf", "image/png")])
SYSTEM_RULES = ("anywhere", "after_user", "lead")
destinations = st.builds(
    Destination,
    dialect=st.sampled_from(DIALECTS),
    model=st.sampled_from(MODELS),
    provider=st.sampled_from(PLACES),
    route=st.sampled_from(PLACES),
    aliases=st.sampled_from([(), ("m2",)]),
    foreign=st.sampled_from(["drop", "note"]),
    takes=st.builds(
        ReplayRules,
        signature_scope=st.sampled_from(["dialect", "model", "route", "route+model"]),
        allows_unsigned=st.booleans(),
        unpaired=st.sampled_from([None, last_thoughts]),
        id_pattern=st.sampled_from([None, "[a-zA-Z0-9_-]{1,64}", "[a-zA-Z0-9]{9}"]),
        id_length=st.just(9),
        minted=st.booleans(),
        answers_calls=st.booleans(),
        merges=st.booleans(),
        begins_with_user=st.booleans(),
        media=taken,
        result_media=taken,
        spoken_media=taken,
    ),
)


# -- threads as they are -------------------------------------------------------------------------


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """A thread of one maker without a fault: every call answered, roles in turn."""
    origin = Origin("north", "m1")
    mine = Signature("red", {"k": ["v"]}, "m1", "north")
    thread: list[Message] = []
    for number in range(draw(st.integers(1, 5))):
        thread.append(Message("user", (Text(f"question {number}"),)))
        for step in range(draw(st.integers(0, 2))):
            called = [f"call_{number}_{step}_{each}" for each in range(draw(st.integers(1, 3)))]
            asked = tuple(
                ToolCall(id, "f", {"a": 1}, draw(st.none() | st.just(mine))) for id in called
            )
            thought = Thinking(draw(st.sampled_from(["", "hm"])), mine, draw(st.booleans()))
            thread.append(Message("assistant", (thought, *asked), origin))
            answers = tuple(ToolResult(id, (Text("42"),)) for id in called)
            thread.append(Message("user", answers))
        said = Text("so it is", draw(st.none() | st.just(mine)), ({"url": "u"},))
        thread.append(
            Message("assistant", (Thinking("hm", mine), said, UnknownPart("red", {})), origin)
        )
    return thread


HOME = Destination(dialect="red", model="m1", provider="north", route="north")
AWAY = Destination(dialect="blue", model="m2", provider="south", route="south")


# -- the laws --------------------------------------------------------------------------------


@given(threads, destinations)
def test_nothing_foreign_is_in_the_view(thread, to):
    for seal, origin in seals_in(handoff(thread, to).messages):
        assert seal.dialect == to.dialect
        if "model" in to.takes.signature_scope:
            made_by = seal.model or (origin.model if origin else None)
            assert made_by in (None, to.model, *to.aliases)
        if "route" in to.takes.signature_scope:
            assert seal.route in (None, to.route)
    for part in parts_of(handoff(thread, to)):
        if isinstance(part, UnknownPart):
            assert part.dialect == to.dialect


@given(threads, destinations)
def test_thinking_stands_in_the_assistants_turns_and_nothing_else_is_put_there(thread, to):
    view = handoff(thread, to)
    assert all(message.role == "assistant" for message in view.messages if message.thinking)
    own = {whole(text) for text in texts_of(thread, "assistant")}
    assert set(texts_of(view.messages, "assistant")) <= own
    if to.foreign == "drop":
        assert not any(text.startswith("[A note") for text in texts_of(view.messages, "user"))


@given(threads, destinations)
def test_every_call_has_one_result_after_it_and_every_result_a_call_before(thread, to):
    waiting = {}
    answered = []
    view = handoff(thread, to)
    for message in view.messages:
        for part in message.parts:
            if isinstance(part, ToolCall):
                assert message.role == "assistant"
                waiting[part.id] = None
            elif isinstance(part, ToolResult):
                assert message.role == "user"
                waiting.pop(part.call_id)  # a KeyError is a result without a call
                answered.append(part.call_id)
    unfinished = [c.id for m in view.messages if is_last(m, view) for c in m.tool_calls]
    assert list(waiting) == [] if to.takes.answers_calls else list(waiting) in ([], unfinished)
    assert len(set(answered)) == len(answered)


@given(threads, destinations)
def test_results_follow_their_calls_at_once_and_in_order(thread, to):
    view = handoff(thread, to)
    for before, after in pairwise([*view.messages, Message("user", ())]):
        asked = [call.id for call in before.tool_calls]
        came = [p.call_id for p in after.parts if isinstance(p, ToolResult)]
        assert came == asked or (not came and not to.takes.answers_calls and is_last(before, view))
        assert all(isinstance(p, ToolResult) for p in after.parts[: len(came)])


@given(threads, destinations)
def test_ids_are_the_destinations_kind_and_each_is_there_once(thread, to):
    found = [call.id for message in handoff(thread, to).messages for call in message.tool_calls]
    assert len(set(found)) == len(found)
    assert all(id and re.fullmatch(to.takes.id_pattern or r"[^\ud800-\udfff]+", id) for id in found)


@given(threads, destinations)
def test_the_manifest_leads_from_every_new_id_back_to_the_old(thread, to):
    view = handoff(thread, to)
    before = Counter(c.id for m in thread if m.role == "assistant" for c in m.tool_calls)
    back = view.manifest.ids
    assert Counter(back.get(c.id, c.id) for m in view.messages for c in m.tool_calls) == before


@given(threads, destinations)
def test_neighbours_differ_in_role_and_the_user_begins_where_asked(thread, to):
    roles = [message.role for message in handoff(thread, to).messages]
    if to.takes.merges:
        assert all(one != other or one == "system" for one, other in pairwise(roles))
    spoken = [role for role in roles if role != "system"]
    if to.takes.begins_with_user and spoken:
        assert spoken[0] == "user"


@given(threads, destinations)
def test_what_was_said_is_kept_word_for_word_and_in_order(thread, to):
    view = handoff(thread, to)
    for role in ("user", "assistant", "system"):
        said = [whole(t) for t in texts_of(thread, role) if t]
        kept = texts_of(view.messages, role)
        if role == "system":
            kept = [text.text for text in view.lead] + kept
        rest = iter(kept)
        assert all(text in rest for text in said)
        ours = [text for text in (Counter(kept) - Counter(said)) if text]
        assert all(text.startswith("[") for text in ours)
        assert not ours or role != "assistant"


@given(threads, destinations)
def test_every_text_can_be_written_as_utf8(thread, to):
    for part in parts_of(handoff(thread, to)):
        if isinstance(part, Text | Thinking):
            part.text.encode()
        elif isinstance(part, ToolCall):
            encode([part.id, part.name, part.arguments])
        elif isinstance(part, ToolResult):
            encode([part.call_id, part.name, [p.text for p in part.content if isinstance(p, Text)]])


@given(threads, destinations)
def test_no_message_and_no_unsealed_text_is_empty(thread, to):
    for message in handoff(thread, to).messages:
        assert message.parts
        for part in message.parts:
            if isinstance(part, Text | Thinking) and not part.text:
                assert part.signature is not None


@given(threads, destinations)
def test_media_stand_only_where_they_are_taken(thread, to):
    for message in handoff(thread, to).messages:
        here = to.takes.spoken_media if message.role == "assistant" else to.takes.media
        for part in message.parts:
            inner = part.content if isinstance(part, ToolResult) else (part,)
            fine = to.takes.result_media if isinstance(part, ToolResult) else here
            for each in inner:
                if isinstance(each, Image | Blob):
                    assert (each.media_type or "image/png").startswith(fine)


@given(threads, destinations)
def test_the_manifest_accounts_for_every_part(thread, to):
    view = handoff(thread, to)
    made = view.manifest
    whole_thread = [
        ((m, p), part) for m, msg in enumerate(thread) for p, part in enumerate(msg.parts)
    ]
    fates = {(c.message, c.part): c.action for c in made.changes if c.part is not None}
    assert made.kept + made.withheld + made.rewritten == len(whole_thread)
    assert made.kept + made.rewritten + made.added == len(parts_of(view))
    assert Counter(fates.values()) == Counter(
        {k: n for k, n in (("withheld", made.withheld), ("rewritten", made.rewritten)) if n}
    )
    assert made.added == sum(c.action == "added" for c in made.changes)
    untouched = Counter(id(part) for at, part in whole_thread if at not in fates)
    assert untouched <= Counter(id(part) for part in parts_of(view)), "kept is the very same part"


@given(threads, destinations)
def test_a_view_of_a_view_is_the_same_view(thread, to):
    view = handoff(thread, to)
    again = handoff(view.messages, to)
    assert again.messages == view.messages
    assert again.manifest.changes == ()


@given(threads, destinations)
def test_the_thread_itself_does_not_change(thread, to):
    before = list(thread)
    handoff(thread, to)
    assert thread == before
    assert all(one is other for one, other in zip(thread, before, strict=True))


@given(threads, destinations)
def test_a_manifest_is_plain_json_and_shows_no_seal(thread, to):
    made = handoff(thread, to).manifest
    assert b'"k"' not in encode(made.to_json())
    assert str(made)


@given(conversations())
def test_going_home_gives_every_seal_back(thread):
    handoff(thread, AWAY)
    view = handoff(thread, HOME)
    assert view.messages == tuple(thread)
    assert view.manifest.changes == ()


@given(conversations(), destinations)
def test_a_longer_thread_has_the_same_beginning(thread, to):
    """What was sent once is sent so again: prompt caches and bound blocks depend on it."""
    cuts = [n for n, message in enumerate(thread) if n and message.role == "assistant"]
    whole_view = handoff(thread, to).messages
    for cut in cuts:
        begun = handoff(thread[:cut], to).messages
        assert whole_view[: len(begun) - 1] == begun[:-1]
        assert whole_view[len(begun) - 1].parts[: len(begun[-1].parts)] == begun[-1].parts


# -- looking into them -----------------------------------------------------------------------


def parts_of(view: View) -> list[Part]:
    return [*view.lead, *(part for message in view.messages for part in message.parts)]


@given(threads, destinations, st.sampled_from(SYSTEM_RULES))
def test_system_turns_stand_where_the_model_takes_them_and_lose_no_word(thread, to, rule):
    to = replace(to, takes=replace(to.takes, system_turns=rule))
    view = handoff(thread, to)
    roles = [message.role for message in view.messages]
    for number, role in enumerate(roles):
        if role != "system" or rule == "anywhere":
            continue
        assert rule == "after_user"
        run = number
        while roles[run - 1] == "system":
            run -= 1
        assert run
        assert roles[run - 1] == "user"
        later = next((other for other in roles[number:] if other != "system"), None)
        assert later in (None, "assistant")
    said = [whole(text) for text in texts_of(thread, "system") if text]
    everything = "\0".join(part.text for part in parts_of(view) if isinstance(part, Text))
    for text in said:
        assert text in everything or text.replace("</", "&lt;/") in everything
    assert handoff(view.messages, to).messages == view.messages


_said = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "system"]),
    st.tuples(st.builds(Text, st.text("ab</system>", min_size=1))),
)


@given(st.lists(_said, min_size=1, max_size=8), st.sampled_from(SYSTEM_RULES))
def test_a_longer_conversation_begins_with_what_was_sent_before(thread, rule):
    to = Destination(
        dialect="red", model="m1", provider="p", route="p", takes=ReplayRules(system_turns=rule)
    )
    after = handoff(thread, to)
    for end, message in enumerate(thread, start=1):
        if message.role == "assistant":  # what an answer was given to has been cached
            before = handoff(thread[:end], to)
            assert before.lead == after.lead
            assert before.messages == after.messages[: len(before.messages)]


def is_last(message: Message, view: View) -> bool:
    """Whether the assistant says nothing after this."""
    return message is next((m for m in reversed(view.messages) if m.role == "assistant"), None)


def seals_in(thread: Any) -> list[tuple[Signature, Origin | None]]:
    found = []
    for message in thread:
        for part in message.parts:
            inner = part.content if isinstance(part, ToolResult) else (part,)
            origin = message.origin if message.role == "assistant" else None
            found += [(each.signature, origin) for each in inner if each.signature is not None]
    return found


def texts_of(thread: Any, role: str) -> list[str]:
    spoken = [message for message in thread if message.role == role]
    return [part.text for message in spoken for part in message.parts if isinstance(part, Text)]


def whole(text: str) -> str:
    """The words as they can be sent: what another library makes of two halves and of one."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text.replace("\ud83d\ude00", "\U0001f600"))
