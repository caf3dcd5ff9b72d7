"""``pondero ask`` that is cut off, by whatever: the question stays, with what came."""

import signal
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import pytest
from tests.cli.ask.test_terminal import SUM, WORDS
from tests.tui.terminal import running

from pondero.emulator import Fault, ScriptedTurn
from pondero.store import Threads

ENDINGS = {"SIGHUP": 129, "SIGTERM": 143, "SIGINT": 130}


def _threads(environment) -> Threads:
    return Threads.open(f"{environment['PONDERO_DATA_DIR']}/threads.db")


def _wait_until_written(environment, words: str) -> None:
    with _threads(environment) as threads:
        while words not in str(threads._database.rows("SELECT body FROM unfinished")):
            sleep(0.05)


@pytest.mark.parametrize("name", [*ENDINGS, "SIGKILL"])
@pytest.mark.parametrize("stage", ["waiting", "thinking", "answering"])
def test_the_question_is_kept_with_what_came(service, environment, name, stage):
    thoughts = " ".join(f"thought{number}" for number in range(400))
    hang = Fault(kind="hang", at={"waiting": None, "thinking": 2500, "answering": 4000}[stage])
    text, thinking = (WORDS, "") if stage == "answering" else ("x", thoughts)
    service.expect(ScriptedTurn(text=text, thinking=thinking, fault=hang))
    level = "off" if stage == "answering" else "high"
    shown = {"waiting": "1 s", "thinking": "thought9", "answering": "word9"}[stage]
    arguments = ("ask", f"claude-opus-5/{level}", SUM, "--thinking")
    with running(*arguments, environment=environment) as terminal:
        terminal.until(shown)
        if name == "SIGKILL" and stage != "waiting":  # what came is written once a second
            _wait_until_written(environment, shown)
        terminal.signal(getattr(signal, name))
        code = terminal.ended()
    assert code == ENDINGS.get(name, -signal.SIGKILL)
    with _threads(environment) as threads:
        recovered = threads.recover_turns()
        assert bool(recovered) == (name == "SIGKILL")
        question, answer = threads.load_messages("last")
    assert question.message.text == SUM
    assert answer.partial
    if stage == "waiting":
        assert answer.message.parts == ()
    else:
        assert shown in str(answer.message.parts)


def test_parallel_questions_to_one_thread_do_not_mix(service, environment):
    with running("ask", "claude-opus-5/off", "What is 1 + 1?", environment=environment) as first:
        assert first.ended() == 0
    with _threads(environment) as threads:
        id = threads.get("last").id

    def follow(number: int) -> str:
        words = f"What is {number} * 3?"
        arguments = ("ask", "-c", id, "claude-opus-5/off", words)
        with running(*arguments, environment=environment) as terminal:
            assert terminal.ended() == 0
            return terminal.text

    with ThreadPoolExecutor(3) as pool:
        said = list(pool.map(follow, (5, 6, 7)))
    with _threads(environment) as threads:
        kept = [threads.messages(each.id) for each in threads.list()]
    for messages in kept:
        asked = [each.text for each in messages if each.role == "user"]
        for number, question in enumerate(asked):
            factors = question.removeprefix("What is ").removesuffix("?")
            assert messages[2 * number + 1].text.startswith(factors)
    copies = sum("is in a copy of it" in " ".join(each.split()) for each in said)
    assert len(kept) == 1 + copies


def test_thinking_that_was_cut_off_does_not_stop_the_thread(service, environment):
    hang = Fault(kind="hang", at=2500)
    service.expect(ScriptedTurn(text="x", thinking="thought " * 500, fault=hang))
    with running("ask", "claude-opus-5/high", SUM, environment=environment) as terminal:
        terminal.until("thought thought")
        terminal.signal(signal.SIGTERM)
        assert terminal.ended() == 143
    with running("ask", "-c", "What is 2 * 3?", environment=environment) as terminal:
        terminal.until("2 * 3 = 6")
        assert terminal.ended() == 0
    with _threads(environment) as threads:
        assert threads.get("last").messages == 4
