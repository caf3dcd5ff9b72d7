"""A table in an answer is as wide as what it says, and no wider than the chat."""

import pytest
from tests.tui.stage import stage
from textual.widgets._markdown import MarkdownTableContent

from pondero.emulator import Emulator, ScriptedTurn

pytestmark = pytest.mark.anyio

SMALL = "| n | prime |\n|---|-------|\n| 7 | yes |\n"
LONG = f"| n | about |\n|---|-------|\n| 7 | {'word ' * 60}|\n"


@pytest.mark.parametrize(
    ("table", "columns", "least", "most"),
    [
        (SMALL, 200, 12, 30),
        (SMALL, 60, 12, 30),
        (LONG, 200, 150, 200),
        (LONG, 60, 40, 60),
    ],
)
async def test_a_table_is_as_wide_as_its_words(table, columns, least, most):
    def scripted(**more):
        service = Emulator(**more)
        service.expect(ScriptedTurn(text=table))
        return service

    async with stage("claude-opus-5/off", size=(columns, 40), emulator=scripted) as chat:
        await chat.say("a table")
        shown = chat.app.query_one(MarkdownTableContent)
        assert least <= shown.region.width <= most
        assert shown.region.right <= columns
        assert "prime" in chat.text or "word word" in chat.text


async def test_columns_are_aligned_and_addresses_of_links_are_seen():
    table = "| n | cost | note |\n|---|---:|:-:|\n| a | 1 | x |\n| b | 22.50 | wide |\n"
    text = f"{table}\nSee [this page](https://example.com/a) or https://example.com/b.\n"

    def scripted(**more):
        service = Emulator(**more)
        service.expect(ScriptedTurn(text=text))
        return service

    async with stage("claude-opus-5/off", emulator=scripted) as chat:
        await chat.say("a table")
        await chat.drawn()
        assert "│     1 │  x   │" in chat.text
        assert "│ 22.50 │ wide │" in chat.text
        assert "See this page (https://example.com/a) or https://example.com/b." in chat.text
