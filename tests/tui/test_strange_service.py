"""A service at the wrong address, or of another API: the chat says who answered and what to check."""

import pytest

from pondero import errors
from pondero.tui.reports import redact_ended
from pondero.tui.state import actions, describe_trouble

NOTE = "http://localhost/v1/responses answered HTTP 404; check the base URL of 'openai'"


def missing(*notes):
    error = errors.NotFound("404 page not found", status=404)
    for note in notes:
        error.add_note(note)
    return error


def test_an_address_with_nothing_behind_it_is_named_and_not_the_spelling():
    assert describe_trouble(missing(NOTE)) == ("✗ 404 page not found (404)", f"  → {NOTE}")


def test_another_apis_answer_is_not_asked_for_again():
    said = "http://localhost answered HTTP 200 with '{}'; check the base URL of 'openai'"
    lines = describe_trouble(errors.Malformed(said, path=None))
    assert lines[-1].endswith(
        "correct its address and start again, or /model; /raw shows what came"
    )
    assert "Enter" in describe_trouble(errors.Malformed("no text"))[-1]


def test_a_model_that_is_not_there_may_be_misspelt():
    assert "is it spelt right?" in describe_trouble(missing())[1]


def test_the_note_on_a_key_stands_before_the_way_out():
    error = errors.AuthFailed("no", status=401)
    error.add_note("the key in X is for another provider")
    lines = describe_trouble(error)
    assert lines[1] == "  → the key in X is for another provider"
    assert "check the key" in lines[2]


def test_a_key_in_a_note_is_not_shown(monkeypatch: pytest.MonkeyPatch):
    key = "sk-test-0123456789-secret"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    ended = actions.TurnEnded(at=0.0, error=missing(f"http://localhost/{key} answered"))
    clean = redact_ended(ended).error
    assert clean is not None
    assert key not in "".join(describe_trouble(clean))
    assert "answered" in describe_trouble(clean)[1]


def test_an_error_in_what_the_user_gave_gets_no_further_hint():
    lines = describe_trouble(errors.BadParameter("cannot read 'x': No such file or directory"))
    assert lines == ("✗ cannot read 'x': No such file or directory",)
