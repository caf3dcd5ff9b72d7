"""Threads on disk: what was added comes back as it was."""

import pytest
from hypothesis import given
from tests.store.values import turns

from pondero.canon import Image, Message, Origin, Signature, Text, Thinking, ToolCall, Usage
from pondero.errors import BadParameter, StoreError, UnknownThread
from pondero.handoff import Rejection
from pondero.store import StoredMessage, Threads

MODEL = "somewhere:some-model/high"


@pytest.fixture
def threads(tmp_path):
    with Threads.open(tmp_path / "threads.db") as opened:
        yield opened


def said(text, role="user", **known):
    origin = Origin("somewhere", "some-model", "high", 1.0) if role == "assistant" else None
    return StoredMessage(Message(role, (Text(text),), origin), **known)


def turn(question, answer, **known):
    return [said(question), said(answer, "assistant", **known)]


@given(turns=turns)
def test_what_was_added_comes_back_equal(tmp_path_factory, turns):
    with Threads.open(tmp_path_factory.mktemp("law") / "threads.db") as threads:
        id = threads.start(model=MODEL).id
        threads.add(id, turns)
        assert threads.load_messages(id) == tuple(turns)
        assert threads.messages(id) == tuple(kept.message for kept in turns)


@given(turns=turns)
def test_a_fork_holds_the_same_messages_and_leaves_the_first_as_it_was(tmp_path_factory, turns):
    with Threads.open(tmp_path_factory.mktemp("law") / "threads.db") as threads:
        id = threads.start(model=MODEL).id
        threads.add(id, turns)
        fork = threads.fork(id, 1)
        assert threads.load_messages(fork.id) == tuple(turns[:1])
        assert (fork.parent, fork.messages, fork.usage, fork.cost) == (id, 1, Usage(), None)
        assert threads.load_messages(id) == tuple(turns)


def test_seals_numbers_and_bytes_are_the_same_to_the_last_bit(threads):
    parts = (
        Thinking("", Signature("some_wire", "EqoB+/==", "m", "r"), redacted=True),
        ToolCall("a", "f", {"n": 2**200, "x": 1e-320, "half": "\ud83d!", "list": [1, [2.0]]}),
        Image("image/png", bytes(range(256))),
    )
    id = threads.start(model=MODEL).id
    threads.add(id, [StoredMessage(Message("assistant", parts))])
    assert threads.messages(id)[0].parts == parts
    assert isinstance(threads.messages(id)[0].parts[1].arguments["list"][1][0], float)


def test_a_thread_knows_what_was_said_of_it(threads):
    made = threads.start(model=MODEL, thinking={"effort": ["high"]}, system="Be\ud800 brief.")
    assert (made.model, made.thinking, made.system) == (
        MODEL,
        {"effort": ["high"]},
        "Be\ud800 brief.",
    )
    threads.set(made.id, model="other:model", thinking=8000)
    changed = threads.get(made.id)
    assert (changed.model, changed.thinking, changed.system) == ("other:model", 8000, made.system)
    threads.set(made.id, thinking=None)
    assert threads.get(made.id).thinking is None
    before = threads.get(made.id)
    threads.set(made.id)
    assert threads.get(made.id) == before


def test_what_was_refused_of_a_thread_stays_with_it_and_with_its_forks(threads):
    seals, words = (
        Rejection("p", "m", signatures=("a1", "b2")),
        Rejection("p", "m", "no\ud800 such level"),
    )
    id = threads.start(model=MODEL, refusals=(seals,)).id
    threads.set(id, refusals=(seals, words))
    threads.set(id, model="other:model")
    assert threads.get(id).refusals == (seals, words)
    assert threads.fork(id).refusals == (seals, words)
    assert threads.start(model=MODEL).refusals == ()


def test_a_new_title_does_not_make_a_thread_the_last(threads):
    first, second = threads.start(model=MODEL).id, threads.start(model=MODEL).id
    threads.rename(first, "mine")
    assert threads.get("last").id == second
    threads.set(first, model="other:model")
    assert threads.get("last").id == first


def test_a_thread_counts_its_turns_messages_tokens_and_money(threads):
    id = threads.start(model=MODEL).id
    assert threads.get(id).usage == Usage()
    threads.add(id, turn("a", "b", usage=Usage(10, None, None, 5, 7, 22), cost="0.1"))
    threads.add(id, turn("c", "d", usage=Usage(20, 3, None, 5, None, 28), cost="0.2"))
    threads.add(id, turn("e", "f"))
    found = threads.get(id)
    assert (found.turns, found.messages) == (3, 6)
    assert found.usage == Usage(30, 3, None, 10, 7, 50)
    assert found.cost == "0.3"


def test_a_title_is_the_first_words_where_none_was_given(threads):
    plain, named = threads.start(model=MODEL).id, threads.start(model=MODEL, title="mine").id
    for id in (plain, named):
        threads.add(
            id, turn("What is\n  the weather in a town whose name nobody can remember?", "Rain.")
        )
        threads.add(id, turn("And now?", "Sun."))
    assert threads.get(plain).title == "What is the weather in a town whose name nobody can…"
    assert threads.get(named).title == "mine"
    threads.rename(plain, "weather")
    assert threads.get(plain).title == "weather"


def test_pages_come_from_the_end(threads):
    id = threads.start(model=MODEL).id
    for number in range(5):
        threads.add(id, turn(f"q{number}", f"a{number}"))

    def page(**what):
        return [kept.message.text for kept in threads.load_messages(id, **what)]

    assert page(last=3) == ["a3", "q4", "a4"]
    assert page(last=3, before=7) == ["q2", "a2", "q3"]
    assert page(before=2) == ["q0", "a0"]
    assert page(last=0) == []
    assert len(page()) == 10


def test_a_thread_is_had_by_its_id_its_beginning_or_as_the_last(threads):
    first, second = threads.start(model=MODEL), threads.start(model=MODEL)
    assert threads.get("last").id == second.id
    threads.add(first.id, turn("a", "b"))
    assert threads.get("last").id == first.id
    assert threads.get(f" {first.id.upper()} ").id == first.id
    beginning = next(first.id[:n] for n in range(1, 7) if first.id[:n] != second.id[:n])
    assert threads.get(beginning).id == first.id
    assert [thread.id for thread in threads.list()] == [first.id, second.id]
    assert [thread.id for thread in threads.list(limit=1)] == [first.id]


def test_an_unknown_thread_is_told_apart_from_one_of_several(threads):
    with pytest.raises(UnknownThread, match="no saved threads yet"):
        threads.get("last")
    made = [threads.start(model=MODEL) for _ in range(40)]
    shared = next(a.id[0] for a in made for b in made if a.id != b.id and a.id[0] == b.id[0])
    with pytest.raises(UnknownThread, match="several threads begin with"):
        threads.get(shared)
    wrong = made[0].id[:-1] + "u"
    with pytest.raises(UnknownThread, match=f"no thread '{wrong}'; did you mean {made[0].id}"):
        threads.get(wrong)
    for id in ("", "%", "a'b", "\ud800"):
        with pytest.raises(UnknownThread):
            threads.get(id)
        with pytest.raises(UnknownThread):
            threads.add(id, turn("a", "b"))


def test_a_deleted_thread_is_gone_with_every_word(threads, tmp_path):
    id, other = threads.start(model=MODEL).id, threads.start(model=MODEL).id
    threads.add(id, turn("the password is swordfish", "I see."))
    threads.add(other, turn("hello there", "hello"))
    assert len(threads.find("swordfish")) == 2  # in the title and in the message
    threads.delete(id)
    with pytest.raises(UnknownThread):
        threads.get(id)
    assert threads.find("swordfish") == ()
    assert len(threads.find("hello")) == 3
    assert threads.check() == "ok"
    for file in tmp_path.iterdir():
        assert b"swordfish" not in file.read_bytes()


def test_a_fork_ends_where_it_is_told(threads):
    id = threads.start(model=MODEL, system="Be brief.").id
    threads.add(id, turn("a", "b", cost="0.1"))
    threads.add(id, turn("c", "d", cost="0.1"))
    fork = threads.fork(id, 2, model="other:model", thinking="low")
    assert (fork.model, fork.thinking, fork.system, fork.turns) == (
        "other:model",
        "low",
        "Be brief.",
        1,
    )
    whole = threads.fork(id)
    assert (whole.model, whole.messages, whole.turns, whole.title) == (MODEL, 4, 2, "a")
    threads.add(fork.id, turn("e", "f", cost="0.4"))
    assert [kept.message.text for kept in threads.load_messages(fork.id)] == ["a", "b", "e", "f"]
    assert threads.get(fork.id).cost == "0.4"
    with pytest.raises(BadParameter, match="upto=-1"):
        threads.fork(id, -1)


def test_what_a_fork_copied_was_paid_once(threads):
    id = threads.start(model=MODEL).id
    threads.add(id, turn("a", "b", usage=Usage(1, 2, 3, 4, 5, 15), cost="0.1", seconds=2.0))
    threads.add(threads.fork(id).id, turn("c", "d", usage=Usage(output=6), seconds=1.0))
    (row,) = threads.stats()
    assert (row.model, row.level, row.turns, row.replies) == ("somewhere:some-model", "high", 2, 2)
    assert (row.input, row.cached, row.thinking, row.output) == (1, 5, 5, 10)
    assert (row.cost, row.priced, row.seconds, row.timed) == ("0.1", 1, 3.0, 2)
    assert threads.stats(days=1) == ()  # they were said in 1970


@pytest.mark.parametrize("indexed", [True, False])
def test_words_are_found_wherever_they_stand(threads, monkeypatch, indexed):
    if not indexed:
        monkeypatch.setattr(
            "pondero.store.threads.search._MAKE", "CREATE VIRTUAL TABLE search USING absent(x)"
        )
    id = threads.start(model=MODEL, title="50% of _all_").id
    threads.add(id, turn("Where is the Eiffel tower?", "It stands in Paris, on the Champ de Mars."))
    assert [(f.number, f.role) for f in threads.find("eiff where")] == [(0, "user")]
    assert threads.find("paris champ")[0].snippet == "It stands in Paris, on the Champ de Mars."
    assert [f.number for f in threads.find("50%")] == [None]
    assert threads.find("100%") == threads.find('"') == threads.find("  ") == ()
    assert [f.number for f in threads.find("of")] == [None]
    threads.add(id, turn("And the Louvre?", "Paris too."))
    assert [f.number for f in threads.find("paris")] == [3, 1]
    assert [f.number for f in threads.find("paris", limit=1)] == [3]


def test_what_cannot_be_kept_is_refused_and_nothing_of_its_turn_is_kept(threads):
    id = threads.start(model=MODEL).id
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(StoreError, match="cannot be saved"):
        threads.add(
            id, [said("a"), StoredMessage(Message("assistant", (ToolCall("a", "f", deep),)))]
        )
    assert threads.load_messages(id) == ()
    threads.add(id, [said("b")])
    assert threads.get(id).messages == 1


def test_no_secret_of_this_process_is_written(tmp_path, monkeypatch):
    secret, given_, raw = (
        "sk-planted-0123456789",
        "another-secret-here",
        b"in bytes: sk-planted-0123456789.",
    )
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    with Threads.open(tmp_path / "threads.db", secrets=[given_]) as threads:
        id = threads.start(
            model=MODEL, system=f"use {secret}", title=secret, thinking={"k": secret}
        ).id
        call = ToolCall("a", "f", {secret: [given_, 1]})
        threads.add(
            id,
            [
                StoredMessage(
                    Message("assistant", (call, Image("image/png", raw))), plan={"x": secret}
                )
            ],
        )
        threads.find("use")
        parts = threads.messages(id)[0].parts
    assert parts == (
        ToolCall("a", "f", {"REDACTED": ["REDACTED", 1]}),
        Image("image/png", b"in bytes: REDACTED."),
    )
    for file in tmp_path.iterdir():
        assert secret.encode() not in file.read_bytes()
        assert given_.encode() not in file.read_bytes()
