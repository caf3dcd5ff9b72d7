"""What becomes of each kind of part, rule by rule."""

import pytest
from msgspec import json, structs

from pondero.canon import (
    Blob,
    CacheBreakpoint,
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

HOME = Destination(dialect="red", model="m1", provider="north", route="north")
AWAY = Destination(dialect="blue", model="m2", provider="south", route="south")
NOTES = Destination(dialect="blue", model="m2", provider="south", route="south", foreign="note")
SEAL = Signature("red", "sig", "m1", "north")
ORIGIN = Origin("north", "m1")
ASK = Message("user", (Text("hi"),))


def answer(*parts: Part, origin: Origin | None = ORIGIN) -> Message:
    return Message("assistant", parts, origin)


def user(*parts: Part) -> Message:
    return Message("user", parts)


def destination(**takes) -> Destination:
    return structs.replace(HOME, takes=ReplayRules(**takes))


def the_changes(view: View) -> list[tuple[str, str, int, int | None]]:
    return [(c.action, c.what, c.message, c.part) for c in view.manifest.changes]


# -- seals and thinking ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "model", "route", "fits"),
    [
        ("dialect", "other", "elsewhere", True),
        ("model", "m1", "elsewhere", True),
        ("model", "other", "north", False),
        ("route", "other", "north", True),
        ("route", "m1", "elsewhere", False),
        ("route+model", "m1", "north", True),
        ("route+model", "other", "north", False),
        ("route+model", "m1", "elsewhere", False),
        ("route+model", None, None, True),
    ],
)
def test_a_seal_goes_as_far_as_its_scope(scope, model, route, fits):
    thought = Thinking("hm", Signature("red", "sig", model, route))
    view = handoff([ASK, answer(thought, Text("yes"))], destination(signature_scope=scope))
    assert (thought in view.messages[1].parts) is fits


def test_a_seal_of_another_dialect_goes_nowhere_whatever_the_scope():
    thought = Thinking("hm", Signature("blue", "sig", "m1", "north"))
    view = handoff([ASK, answer(thought, Text("yes"))], destination(signature_scope="dialect"))
    assert view.messages[1].parts == (Text("yes"),)


def test_a_seal_that_names_no_model_is_judged_by_its_messages_origin():
    thought = Thinking("hm", Signature("red", "sig"))
    told = Origin("north", "m2")
    view = handoff([ASK, answer(thought, Text("yes"), origin=told)], HOME)
    assert view.messages[1].parts == (Text("yes"),)


def test_another_name_of_the_same_model_reads_its_seals():
    thread = [ASK, answer(Thinking("hm", SEAL), Text("yes"))]
    dated = Destination(
        dialect="red", model="m1-2026", provider="north", route="north", aliases=("m1",)
    )
    assert handoff(thread, dated).messages == tuple(thread)


def test_foreign_thinking_is_dropped_and_told():
    view = handoff([ASK, answer(Thinking("hm", SEAL), Text("yes"))], AWAY)
    assert view.messages == (ASK, answer(Text("yes")))
    assert the_changes(view) == [("withheld", "thinking", 1, 0)]


def test_foreign_thinking_may_become_a_labelled_note_of_the_users_before_the_answer():
    view = handoff([ASK, answer(Thinking("hm", SEAL), Text("yes"))], NOTES)
    note = "[A note: what m1 thought before it gave the answer that follows]\nhm"
    assert view.messages == (ASK, user(Text(note)), answer(Text("yes")))
    assert the_changes(view) == [("rewritten", "thinking", 1, 0)]


def test_a_note_in_a_tool_loop_stands_after_the_results_before_it():
    call = ToolCall("a", "f", {})
    thread = [
        ASK,
        answer(call),
        user(ToolResult("a", ())),
        answer(Thinking("hm", SEAL), Text("ok")),
    ]
    roles = [message.role for message in handoff(thread, NOTES).messages]
    assert roles == ["user", "assistant", "user", "user", "assistant"]


def test_redacted_and_hidden_foreign_thinking_is_dropped_even_where_notes_are_made():
    thread = [ASK, answer(Thinking("", SEAL, redacted=True), Thinking("", SEAL), Text("yes"))]
    view = handoff(thread, NOTES)
    assert view.messages == (ASK, answer(Text("yes")))
    assert view.manifest.withheld == 2


def test_a_seal_on_words_and_calls_is_taken_off_and_the_rest_kept():
    thread = [
        ASK,
        answer(Text("so", SEAL, cache=CacheBreakpoint("5m")), ToolCall("a", "f", {"x": 1}, SEAL)),
    ]
    view = handoff([*thread, user(ToolResult("a", ()))], AWAY)
    assert view.messages[1].parts == (
        Text("so", cache=CacheBreakpoint("5m")),
        ToolCall("a", "f", {"x": 1}),
    )
    assert the_changes(view) == [("rewritten", "seal", 1, 0), ("rewritten", "seal", 1, 1)]


def test_a_part_with_nothing_but_its_seal_is_kept_for_its_maker_alone():
    thread = [ASK, answer(Thinking("", SEAL), Text("", SEAL), Text("yes"))]
    assert handoff(thread, HOME).messages == tuple(thread)
    assert handoff(thread, AWAY).messages == (ASK, answer(Text("yes")))


def test_a_turn_cut_off_amid_its_thinking_loses_only_what_has_no_seal():
    thread = [ASK, answer(Thinking("one", SEAL), Text("so"), Thinking("tw")), user(Text("go on"))]
    view = handoff(thread, HOME)
    assert view.messages[1].parts == (Thinking("one", SEAL), Text("so"))
    assert the_changes(view) == [("withheld", "thinking", 1, 2)]


@pytest.mark.parametrize(
    ("origin", "kept"),
    [(ORIGIN, True), (Origin("north", "m2"), False), (Origin("south", "m1"), False), (None, False)],
)
def test_thinking_without_a_seal_goes_back_to_its_maker_where_that_is_allowed(origin, kept):
    thread = [ASK, answer(Thinking("hm"), Text("yes"), origin=origin)]
    view = handoff(thread, destination(allows_unsigned=True))
    assert bool(view.messages[1].thinking) is kept


def test_a_neighbours_seal_says_who_thought_what_has_none():
    thread = [ASK, answer(Thinking("hm"), Text("yes", SEAL), origin=None)]
    assert handoff(thread, destination(allows_unsigned=True)).messages == tuple(thread)


def test_a_signature_on_an_empty_text_is_called_one():
    thread = [ASK, answer(Text("yes"), Text("", SEAL))]
    view = handoff(thread, AWAY)
    assert view.messages == (ASK, answer(Text("yes")))
    assert the_changes(view) == [("withheld", "seal", 1, 1)]
    assert "withheld the signature of another model" in str(view.manifest)


def test_citations_go_to_their_maker_only():
    thread = [ASK, answer(Text("yes", citations=({"url": "u"},)))]
    assert handoff(thread, HOME).messages == tuple(thread)
    view = handoff(thread, AWAY)
    assert view.messages[1].parts == (Text("yes"),)
    assert the_changes(view) == [("rewritten", "citations", 1, 0)]


def test_what_we_do_not_know_goes_to_its_dialect_and_its_deployment_only():
    thread = [ASK, answer(UnknownPart("red", {"type": "search"}), Text("yes"))]
    assert handoff(thread, HOME).messages == tuple(thread)
    elsewhere = Destination(dialect="red", model="m1", provider="south", route="south")
    for to in (AWAY, elsewhere):
        view = handoff(thread, to)
        assert view.messages == (ASK, answer(Text("yes")))
        assert the_changes(view) == [("withheld", "other", 1, 0)]


def test_what_we_do_not_know_is_withheld_where_its_seal_names_another_deployment():
    thread = [
        ASK,
        answer(
            UnknownPart("red", {}, Signature("red", "s", "m1", "south")), Text("y"), origin=None
        ),
    ]
    assert handoff(thread, destination(signature_scope="dialect")).messages[1] == answer(
        Text("y"), origin=None
    )


def test_the_readers_own_thinking_never_becomes_a_note():
    thread = [ASK, answer(Thinking("cut o"), Thinking("hm", SEAL), Text("yes"))]
    view = handoff(thread, structs.replace(HOME, foreign="note"))
    assert view.messages == (ASK, answer(Thinking("hm", SEAL), Text("yes")))


# -- calls and results -----------------------------------------------------------------------


def test_a_call_without_a_result_was_interrupted():
    thread = [ASK, answer(ToolCall("a", "f", {}), ToolCall("b", "f", {})), user(Text("well?"))]
    view = handoff(thread, HOME)
    told = (Text("the call was interrupted"),)
    results = ToolResult("a", told, error=True), ToolResult("b", told, error=True)
    assert view.messages[2] == user(*results, Text("well?"))
    assert view.manifest.added == 2


def test_a_last_turn_that_calls_may_be_left_open_where_the_destination_lets_it():
    thread = [ASK, answer(ToolCall("a", "f", {}), ToolCall("b", "f", {}))]
    assert handoff(thread, destination(answers_calls=False)).messages == tuple(thread)
    half = [*thread, user(ToolResult("b", ()))]
    view = handoff(half, destination(answers_calls=False))
    assert [part.call_id for part in view.messages[2].parts] == ["a", "b"]


def test_a_result_nobody_asked_for_is_left_out():
    view = handoff([user(ToolResult("a", (Text("42"),)), Text("hi"))], HOME)
    assert view.messages == (ASK,)
    assert the_changes(view) == [("withheld", "result", 0, 0)]


def test_a_second_result_of_one_call_is_left_out():
    result = ToolResult("a", (Text("42"),))
    view = handoff([ASK, answer(ToolCall("a", "f", {})), user(result, result)], HOME)
    assert view.messages[2] == user(result)


def test_results_come_back_to_their_calls_from_wherever_they_stand():
    one, two = ToolResult("a", (Text("1"),)), ToolResult("b", (Text("2"),))
    calls = answer(ToolCall("a", "f", {}), ToolCall("b", "f", {}))
    view = handoff([ASK, calls, user(Text("wait"), two), user(one), ASK], HOME)
    assert view.messages == (ASK, calls, user(one, two, Text("wait")), ASK)
    moved = [change for change in view.manifest.changes if change.what == "place"]
    assert [(change.where, change.after) for change in moved] == [("3.0", "after 1")]


def test_an_id_used_twice_is_told_apart_with_its_results():
    one, two = ToolCall("a", "f", {"n": 1}), ToolCall("a", "f", {"n": 2})
    thread = [
        ASK,
        answer(one),
        user(ToolResult("a", (Text("one"),))),
        answer(two),
        user(ToolResult("a", (Text("two"),))),
    ]
    view = handoff(thread, HOME)
    first, second = view.messages[1].tool_calls[0], view.messages[3].tool_calls[0]
    assert first == one
    assert second.id != "a"
    assert view.messages[4].parts[0] == ToolResult(second.id, (Text("two"),))
    assert view.manifest.ids == {second.id: "a"}


def test_a_result_belongs_to_the_later_of_two_calls_with_its_id_where_the_first_was_interrupted():
    thread = [
        *[ASK, answer(ToolCall("a", "f", {})), ASK],
        *[answer(ToolCall("a", "f", {})), user(ToolResult("a", (Text("42"),)))],
    ]
    _, _, first, _, second = handoff(thread, HOME).messages
    assert [p.error for p in (*first.parts, *second.parts) if isinstance(p, ToolResult)] == [
        True,
        False,
    ]


def test_an_id_made_anew_is_never_one_that_is_there_already():
    odd, nine = ToolCall("call|a", "f", {}), destination(id_pattern="[a-z0-9]{9}", id_length=9)
    made = handoff([ASK, answer(odd)], nine).messages[1].tool_calls[0].id
    calls = handoff([ASK, answer(odd, ToolCall(made, "f", {}))], nine).messages[1].tool_calls
    assert calls[0].id != made
    assert calls[1].id == made


def test_ids_are_rewritten_to_the_alphabet_on_call_and_result_alike():
    thread = [ASK, answer(ToolCall("call|a.1", "f", {})), user(ToolResult("call|a.1", ()))]
    nine = destination(id_pattern="[a-zA-Z0-9]{9}", id_length=9)
    view = handoff(thread, nine)
    made = view.messages[1].tool_calls[0].id
    assert len(made) == 9
    assert made.isalnum()
    assert view.messages[2].parts == (ToolResult(made, ()),)
    assert handoff(thread, nine) == view, "the same id every time"


def test_an_id_made_anew_counts_as_minted_where_only_given_ids_are_sent():
    calls = answer(ToolCall("a", "f", {}), ToolCall("a", "f", {}))
    kept, made = handoff([ASK, calls], destination(minted=False)).messages[1].tool_calls
    assert (kept.minted, made.minted) == (False, True)


def test_calls_and_thinking_out_of_place_are_left_out():
    view = handoff([user(ToolCall("a", "f", {}), Thinking("hm", SEAL), Text("hi"))], HOME)
    assert view.messages == (ASK,)
    assert view.manifest.withheld == 2


# -- media, texts and turns ------------------------------------------------------------------


def test_media_that_are_not_taken_become_a_line_of_text():
    picture = Image("image/png", b"1234")
    sheet = Blob("application/pdf", url="https://example.com/a.pdf")
    thread = [
        user(picture, sheet),
        answer(ToolCall("a", "f", {})),
        user(ToolResult("a", (picture, Text("see above")))),
    ]
    view = handoff(thread, destination(media=("image/",), result_media=()))
    shown = Text("[application/pdf, which this model cannot be shown]")
    unseen = Text("[image/png, 4 bytes, which this model cannot be shown]")
    assert view.messages[0] == user(picture, shown)
    assert view.messages[2] == user(ToolResult("a", (unseen, Text("see above"))))
    assert the_changes(view) == [("rewritten", "blob", 0, 1), ("rewritten", "image", 2, 0)]


def test_a_picture_by_its_address_becomes_a_line_of_text_where_only_data_is_taken():
    there, here = Image(url="https://x/y.png"), Image(url="data:image/png;base64,eA==")
    view = handoff([user(there, here)], destination(addresses=()))
    line, kept = view.messages[0].parts
    assert line.text.endswith("which this model cannot be shown]")
    assert kept is here
    assert the_changes(view) == [("rewritten", "image", 0, 0)]
    assert handoff([user(there)], destination()).messages == (user(there),)


def test_a_picture_the_assistant_made_is_shown_by_the_user_before_the_answer():
    picture = Image("image/png", b"1234", signature=SEAL)
    view = handoff([ASK, answer(picture, Text("here"))], AWAY)
    label = Text("[image/png, 4 bytes, from the answer that follows:]")
    assert view.messages == (ASK, user(label, Image("image/png", b"1234")), answer(Text("here")))
    blind = Destination(
        dialect="blue", model="m2", provider="s", route="s", takes=ReplayRules(media=())
    )
    told = Text("[The answer that follows held image/png, 4 bytes, which is not shown here]")
    assert handoff([ASK, answer(picture, Text("here"))], blind).messages[1] == user(told)


def test_a_foreign_part_in_a_result_leaves_a_line_in_its_place():
    thread = [ASK, answer(ToolCall("a", "f", {})), user(ToolResult("a", (UnknownPart("red", {}),)))]
    line = Text("[a part that only another service can read]")
    assert handoff(thread, AWAY).messages[2] == user(ToolResult("a", (line,)))


def test_a_document_loses_the_settings_that_its_destination_does_not_have():
    sheet = Blob("application/pdf", b"%PDF", context="the third quarter", cited=True)
    view = handoff([user(sheet)], destination())
    assert view.messages[0].parts == (Blob("application/pdf", b"%PDF"),)
    assert [change.why for change in view.manifest.changes] == [
        "the destination's documents have no context",
        "the destination cites no documents",
    ]
    assert handoff([user(sheet)], destination(cites=True)).messages == (user(sheet),)


@pytest.mark.parametrize("data", [b"\xff\xfe", b" \n"])
def test_a_text_file_without_words_is_described(data):
    view = handoff([user(Blob("text/plain", data), Text("hi"))], destination(media=("image/",)))
    assert "which this model cannot be shown]" in view.messages[0].text


def test_the_words_of_a_text_file_come_under_its_name():
    file = Blob("text/csv", b"a,b", name="t.csv", context="of May", cited=True)
    view = handoff([user(file)], destination(media=("image/",)))
    assert view.messages[0].parts == (Text("[t.csv]\n[of May]\na,b"),)
    assert "the destination cites no documents" in str(view.manifest)


def test_halves_of_characters_in_names_and_thinking_are_replaced():
    file = Blob("application/pdf", b"%PDF", name="a\ud83d.pdf")
    link = Image(url="https://x/\udc00.png")
    thought = Thinking("h\ud83dm", SEAL)
    view = handoff([user(file, link), answer(thought, Text("yes"))], HOME)
    assert view.messages[0].parts[0].name == "a\ufffd.pdf"
    assert view.messages[0].parts[1].url == "https://x/\ufffd.png"
    assert view.messages[1].parts[0] == Thinking("h\ufffdm", SEAL)
    assert {change.what for change in view.manifest.changes} == {"blob", "image", "thinking"}


def test_a_system_turn_keeps_its_text_alone():
    note = Message("system", (Text("be brief"), Image("image/png", b"1234")))
    view = handoff([ASK, answer(Text("yes")), note, ASK], HOME)
    assert "image" not in {type(part).__name__.lower() for m in view.messages for part in m.parts}
    assert "a system turn has text alone" in str(view.manifest)


def test_empty_texts_and_messages_are_left_out_and_told():
    view = handoff(
        [ASK, answer(Text("")), user(Text(""), Text("well?")), Message("user", ())], HOME
    )
    assert view.messages == (ASK, user(Text("well?")))
    assert the_changes(view) == [
        ("withheld", "message", 1, None),
        ("withheld", "text", 1, 0),
        ("withheld", "text", 2, 0),
        ("withheld", "message", 3, None),
    ]
    assert "withheld message: no part of it can be sent (2 times)" in str(view.manifest)


def test_an_empty_result_stays_empty():
    thread = [ASK, answer(ToolCall("a", "f", {})), user(ToolResult("a", (Text(""),)))]
    assert handoff(thread, AWAY).messages == tuple(thread)


def test_halves_of_characters_are_joined_or_replaced():
    call = ToolCall("a", "f", {"k\udc00": ["\ud83d\ude00", 2**80]})
    view = handoff([user(Text("a\ud83db \ud83d\ude00")), answer(call)], HOME)
    assert view.messages[0].text == "a\ufffdb \U0001f600"
    assert view.messages[1].tool_calls[0].arguments == {"k\ufffd": ["\U0001f600", 2**80]}
    assert the_changes(view)[:2] == [("rewritten", "text", 0, 0), ("added", "result", 1, None)]


def test_arguments_nested_deeper_than_python_calls_are_kept():
    deep = []
    for _ in range(5_000):
        deep = [deep]
    thread = [ASK, answer(ToolCall("a", "f", {"x": deep})), user(ToolResult("a", ()))]
    view = handoff(thread, HOME)
    assert view.messages[1].parts[0] is thread[1].parts[0]


def test_neighbours_of_one_role_become_one_where_they_must():
    thread = [ASK, user(Text("there?")), answer(Text("yes")), answer(Text("here"))]
    view = handoff(thread, destination(merges=True))
    assert view.messages == (user(Text("hi"), Text("there?")), answer(Text("yes"), Text("here")))
    assert the_changes(view) == [("merged", "message", 1, None), ("merged", "message", 3, None)]
    assert handoff(thread, HOME).messages == tuple(thread)


def test_what_two_models_said_in_one_turn_is_from_the_one_that_reads_it():
    other = Origin("south", "m2")
    merged = destination(merges=True)
    assert (
        handoff([answer(Text("a"), origin=other), answer(Text("b"))], merged).messages[0].origin
        == ORIGIN
    )
    strange = [answer(Text("a"), origin=other), answer(Text("b"), origin=None)]
    assert handoff(strange, merged).messages[0].origin is None


def test_the_user_has_the_first_word_where_that_must_be():
    system = Message("system", (Text("be brief"),))
    view = handoff([system, answer(Text("hello"))], destination(begins_with_user=True))
    assert view.lead == system.parts
    assert [message.role for message in view.messages] == ["user", "assistant"]
    assert the_changes(view) == [("added", "text", 1, None)]


# -- the view and its manifest ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("thread", "unthought"),
    [
        ([], False),
        ([ASK], False),
        ([ASK, answer(Text("yes")), ASK], False),
        ([ASK, answer(ToolCall("a", "f", {})), user(ToolResult("a", ()))], True),
        (
            [ASK, answer(Thinking("", SEAL), ToolCall("a", "f", {})), user(ToolResult("a", ()))],
            False,
        ),
        (
            [
                *[ASK, answer(ToolCall("a", "f", {})), user(ToolResult("a", ()))],
                *[answer(Thinking("", SEAL), ToolCall("b", "f", {})), user(ToolResult("b", ()))],
            ],
            True,
        ),
        (
            [
                *[ASK, answer(Thinking("", SEAL)), answer(ToolCall("a", "f", {}))],
                *[user(ToolResult("a", ())), Message("system", (Text("now"),))],
            ],
            False,
        ),
        (
            [
                ASK,
                answer(ToolCall("a", "f", {})),
                user(ToolResult("a", ())),
                answer(Text("so")),
                ASK,
            ],
            False,
        ),
    ],
)
def test_a_view_tells_of_an_open_tool_loop_that_does_not_begin_with_thinking(thread, unthought):
    assert handoff(thread, HOME).open_loop_without_thinking is unthought


def test_a_thread_that_needs_nothing_is_its_own_view():
    thread = [ASK, answer(Thinking("hm", SEAL), Text("yes")), ASK]
    view = handoff(thread, HOME)
    assert all(one is other for one, other in zip(view.messages, thread, strict=True))
    assert str(view.manifest) == "all 4 parts kept as they are"


def test_a_manifest_reads_well():
    one = handoff([answer(Thinking("hm", SEAL), Text("yes"))], AWAY)
    assert str(one.manifest).startswith("1 part kept, 1 withheld\n")
    thread = [ASK, *(answer(Thinking("hm", SEAL), Text("yes")) for _ in range(7))]
    assert str(handoff(thread, AWAY).manifest) == (
        "8 parts kept, 7 withheld\n  withheld thinking: another model or route thought it (7 times)"
    )


def test_a_manifest_is_json():
    made = handoff([ASK, answer(Thinking("hm", SEAL), Text("yes"))], AWAY).manifest.to_json()
    assert json.decode(json.encode(made)) == {
        "kept": 2,
        "withheld": 1,
        "rewritten": 0,
        "added": 0,
        "changes": [
            {
                "action": "withheld",
                "what": "thinking",
                "why": "another model or route thought it",
                "message": 1,
                "part": 0,
                "before": None,
                "after": None,
            }
        ],
    }


def test_a_long_thread_takes_a_few_steps_a_message():
    """Twice the thread is twice the work: counted in calls of Python, not in seconds."""
    from tests.handoff.counting import calls_of

    def thread(turns: int) -> list[Message]:
        made: list[Message] = []
        for n in range(turns):
            made += [ASK, answer(Thinking("hm", SEAL), ToolCall("same", "f", {"n": n}, SEAL))]
            made += [user(ToolResult("same", (Text("42"),))), answer(Text("so"))]
        return made

    once = calls_of(lambda: handoff(thread(100), NOTES))
    twice = calls_of(lambda: handoff(thread(200), NOTES))
    assert twice < 2.1 * once


# -- nobody is named -------------------------------------------------------------------------


@pytest.mark.parametrize("beside", [Text("words"), Text("words", Signature("red", "sig"))])
@pytest.mark.parametrize("to", [HOME, AWAY, destination(allows_unsigned=True)])
def test_thinking_of_which_nothing_says_who_thought_it_is_nobodys(to, beside):
    view = handoff([ASK, answer(Thinking("hm"), beside, origin=None)], to)
    (change,) = [each for each in view.manifest.changes if each.what == "thinking"]
    assert change.why == "nothing says which model thought it"
    assert not any(isinstance(part, Thinking) for m in view.messages for part in m.parts)


def test_a_note_of_thinking_of_unknown_origin_says_so():
    view = handoff([ASK, answer(Thinking("hm"), Text("words"), origin=None)], NOTES)
    assert "what an unknown model thought" in str(view.messages)
    assert "an unknown model thought it" in str(view.manifest)
