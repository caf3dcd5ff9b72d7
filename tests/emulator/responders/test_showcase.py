"""Markdown from the emulator, so that who tries pondero offline sees how it is drawn."""

import pytest
from markdown_it import MarkdownIt

from pondero.client import Client
from pondero.emulator import Emulator
from pondero.emulator.responders.showcase import find_showcase


def _blocks(question: str) -> set[str]:
    with Client(transport=Emulator()) as client:
        text = client.ask("claude-opus-5/low", question).text
    return {token.type for token in MarkdownIt("gfm-like").parse(text)}


@pytest.mark.parametrize(
    ("question", "block"),
    [
        ("Show me a table of primes", "table_open"),
        ("Write a Python function that finds primes.", "fence"),
        ("Give me the steps", "ordered_list_open"),
    ],
)
def test_what_is_asked_for_comes(question, block):
    assert block in _blocks(question)


def test_markdown_has_all_of_it():
    blocks = _blocks("Show me all the Markdown there is")
    assert {
        "table_open",
        "fence",
        "ordered_list_open",
        "bullet_list_open",
        "heading_open",
    } <= blocks


def test_other_questions_are_answered_as_before():
    assert find_showcase("Is 3,599 prime?") is None
    assert find_showcase("The table is set.") is None
    assert _blocks("Why is the sky blue?") == {"paragraph_open", "inline", "paragraph_close"}
