"""Which failures move on to another model: one table for the library and the gateway."""

import pytest

from pondero import errors
from pondero.canon import Message, Origin, Text
from pondero.exchange import (
    PATIENCE,
    Retry,
    gave_last_answer,
    is_deployment_fault,
    is_fallback_error,
    shorten_retries,
)
from pondero.store import load_catalog


@pytest.mark.parametrize(
    ("kind", "moves", "fault"),
    [
        (errors.Overloaded, True, True),
        (errors.ServerFailed, True, True),
        (errors.ServiceTimeout, True, True),
        (errors.Timeout, True, True),
        (errors.Unreachable, True, True),
        (errors.Truncated, True, True),
        (errors.RateLimited, True, False),
        (errors.QuotaSpent, True, False),
        (errors.AuthFailed, True, False),
        (errors.MissingKey, True, False),
        (errors.NotFound, True, False),
        (errors.Refused, True, False),
        (errors.ContextTooLong, True, False),
        (errors.BadRequest, False, False),
    ],
)
def test_a_failure_moves_on_unless_the_request_itself_is_wrong(kind, moves, fault):
    error = kind("so")
    assert (is_fallback_error(error), is_deployment_fault(error)) == (moves, fault)


def test_a_conversation_is_at_home_with_the_model_of_its_last_answer():
    entry = load_catalog().entry("anthropic:claude-opus-5")

    def said(model):
        return Message("assistant", (Text("x"),), Origin("anthropic", model))

    assert gave_last_answer(entry, [said("claude-opus-5"), Message("user", (Text("y"),))])
    assert not gave_last_answer(entry, [said("claude-opus-5"), said("claude-sonnet-5")])
    assert not gave_last_answer(entry, [Message("user", (Text("y"),))])


def test_nobody_waits_long_for_one_model_while_another_could_answer():
    quick = shorten_retries(Retry(attempts=9, patience=100, cap=60, waits=False))
    assert (quick.attempts, quick.patience, quick.cap, quick.waits) == (3, PATIENCE, 5.0, False)
    assert shorten_retries(Retry(attempts=1)).attempts == 1
