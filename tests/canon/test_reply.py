"""An answer that was cut while it thought."""

import pytest

from pondero.canon import Text, Thinking, ToolCall, Usage, is_thinking_only

THOUGHT = Thinking("hm")


@pytest.mark.parametrize(
    ("parts", "usage", "only"),
    [
        ([THOUGHT], Usage(), True),
        ([THOUGHT, Text(" \n")], Usage(), True),
        ([], Usage(thinking=5), True),
        ([], Usage(), False),
        ([Text("  ")], Usage(thinking=0), False),
        ([THOUGHT, Text("17")], Usage(thinking=5), False),
        ([ToolCall("1", "add", {}), THOUGHT], Usage(thinking=5), False),
    ],
)
def test_thinking_is_all_there_was_where_no_word_and_no_call_came(parts, usage, only):
    assert is_thinking_only(parts, usage) is only
