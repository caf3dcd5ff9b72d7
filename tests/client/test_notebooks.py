"""Replies and plans in a notebook: what is folded unfolds, and nothing breaks out of its place."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import pondero
from pondero.canon import Message, Reply, Text, Thinking, Usage
from pondero.emulator import Emulator

PAGE = MarkdownIt("commonmark", {"html": True}).enable("table")


def reply_of(thinking, text, tokens=None):
    parts = (*(Thinking(each) for each in thinking), Text(text))
    return Reply(Message("assistant", parts), "stop", Usage(thinking=tokens))


def test_the_answer_is_markdown_and_its_thinking_is_folded():
    reply = pondero.Client(transport=Emulator()).ask("claude-opus-5/high", "What is 17 * 23?")
    page = PAGE.render(reply._repr_markdown_())
    assert page.count("<details>") == page.count("</details>") == 1
    assert f"Thinking ({reply.usage.thinking:,} tokens)" in page
    assert page.rstrip().endswith("</p>")


def test_without_thinking_it_is_the_answer_alone():
    assert reply_of((), "**yes**")._repr_markdown_() == "**yes**"


@given(st.lists(st.text(alphabet="a</details>pre\n `|&", min_size=1), min_size=1), st.text("ab*"))
def test_whatever_was_thought_stays_folded(thinking, answer):
    page = PAGE.render(reply_of(thinking, f"answer {answer}")._repr_markdown_())
    inside, _, after = page.partition("</details>")
    assert "</details>" not in after
    assert "answer" in after
    assert re.findall("<(?!/?(?:details|summary|pre)>)", inside) == []


@pytest.mark.parametrize("model", ["claude-opus-5/high", "gpt-5.1/off", "gemini-2.5-pro/off"])
def test_a_plan_is_a_table_with_its_json_below(model):
    plan = pondero.plan(model, temperature=0.2)
    page = PAGE.render(plan._repr_markdown_())
    assert page.count("<table>") == page.count('<code class="language-json">') == 1
    rows = page.partition("</table>")[0].count("<tr>")
    assert rows == 1 + 4 + len(plan.adjustments) + len(plan.headers)
    assert plan.model in page


@given(st.text(alphabet="|*_`<>[]&$\\~ab\n", min_size=1))
def test_nothing_in_a_cell_breaks_the_table(text):
    plan = pondero.plan("claude-opus-5", {"native": text, "budget": "``` " + text})
    table = PAGE.render(plan._repr_markdown_()).partition("</table>")[0]
    assert table.count("<td>") == 2 * (table.count("<tr>") - 1)
    shown = PAGE.render(f"| a | |\n| --- | --- |\n| b | {_cell(text)} |")
    assert "<em>" not in shown
    assert shown.count("<td>") == 2


def _cell(text):
    from pondero.thinking.plan import _cell

    return _cell(text)
