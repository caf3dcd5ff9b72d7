"""Refusals that name their own cure."""

import pytest
from tests.repairs import repair

from pondero.errors import BadRequest

from ..making import NAME, encoded


def cured(think, words):
    made = repair(NAME, encoded(fields={"think": think}), BadRequest(words))
    return made and (made.adjustment, made.request.body)


@pytest.mark.parametrize(("think", "asked"), [(True, "on"), ("high", "high")])
def test_a_model_that_cannot_think_is_asked_without(think, asked):
    note, body = cured(think, '"gemma3" does not support thinking')
    assert (note.code, note.asked, note.got) == ("no_thinking", asked, "off")
    assert b"think" not in body


def test_a_word_an_older_server_does_not_know_becomes_the_nearest_it_lists():
    words = 'invalid think value: "max" (must be "high", "medium", "low", true, or false)'
    note, body = cured("max", words)
    assert (note.code, note.asked, note.got) == ("unsupported_level", "max", "high")
    assert b'"think":"high"' in body


@pytest.mark.parametrize(
    ("think", "words"),
    [
        (False, '"gemma3" does not support thinking'),
        ("low", "model 'x' not found"),
        (True, "invalid think value"),
    ],
)
def test_other_refusals_are_not_cured(think, words):
    assert cured(think, words) is None
