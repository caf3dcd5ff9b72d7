"""Connections of a real engine: it says it keeps them, and closes some after a stream."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.engine.scripted import ANSWER, CHAT, WIRES

from pondero.canon import ThinkingDelta

pytestmark = pytest.mark.engine


def test_a_connection_closed_against_its_word_is_not_the_callers_concern(client):
    ways = [True, False] * 40  # what follows a stream meets it about once in thirty times
    assert {client.ask(CHAT, "Hi.", "off", stream=way).text for way in ways} == {ANSWER}


@pytest.mark.parametrize("model", WIRES)
def test_a_stream_left_early_frees_the_engine(client, model):
    with client.stream(model, "Hi.", "max") as stream:
        next(event for event in stream if isinstance(event, ThinkingDelta))
    assert client.ask(model, "Hi.", "low").text == ANSWER  # it does one thing at a time


def test_one_client_serves_many_threads(client):
    with ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(lambda n: client.ask(WIRES[n % 3], "Hi.", "low"), range(48)))
    assert {reply.text for reply in replies} == {ANSWER}
