"""docs/contracts.md and the scenarios say the same, and every name the ledger asks for is there."""

import re
from pathlib import Path

from pondero.contract import SCENARIOS

TEXT = (Path(__file__).parents[2] / "docs" / "contracts.md").read_text("utf-8")
NAMES = [scenario.name for scenario in SCENARIOS]

# Every function that the ledger's rows ask for, and the scenario that is its counterpart.
ASKED = {
    "test_thinking_budget_": "thinking_budgets",
    "test_thinking_serialization_": "thinking_serialisation",
    "test_thinking_extraction_": "thinking_extraction",
    "test_thinking_tokens_": "thinking_tokens",
    "test_thinking_level_transition": "thinking_transition",
    "test_thinking_none_skips_config": "thinking_off",
    "test_thinking_max_budget": "thinking_max",
    "test_thinking_unsupported_model": "thinking_unsupported_model",
    "test_thinking_streaming_content": "thinking_streaming",
    "test_thinking_summary_flag": "thinking_summary_flag",
}
CONTRACTS = (
    *("simple_text", "tool_call", "tool_call_id_generation", "thinking_config"),
    *("thinking_response", "streaming_text", "streaming_thinking", "streaming_tool_call"),
    *("error_auth", "error_rate_limit", "error_invalid_request", "multi_turn", "token_usage"),
    "grounding",
)


def test_every_name_that_was_asked_for_has_its_scenario():
    assert set(ASKED.values()) | set(CONTRACTS) <= set(NAMES)
    assert [name for name in ASKED if f"`{name}" not in TEXT] == []


def test_the_table_lists_every_scenario_once_and_in_order():
    assert re.findall(r"^\| \d+ \| `(\w+)` \|", TEXT, re.MULTILINE) == NAMES


def test_the_python_on_the_page_runs_as_printed(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(compile(block, "contracts.md", "exec"), {})
    assert capsys.readouterr().out == ""  # nothing failed


def test_every_correction_is_of_a_scenario():
    table = TEXT.partition("| scenario | asked for | the wire |")[2].partition("\n\n")[0]
    corrected = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", table, re.MULTILINE)
    named = [name for cell in corrected for name in re.findall(r"\w+", cell)]
    assert len(corrected) >= 15
    assert [name for name in named if name not in NAMES] == []


def test_a_scenario_says_in_one_line_what_it_shows_and_which_row_asks_for_it():
    rows = [scenario.row for scenario in SCENARIOS if scenario.row]  # one of our own has none
    for scenario in SCENARIOS:
        assert re.fullmatch(r"(00[01] [AB]\d\d)?", scenario.row), scenario.name
        assert scenario.shows.endswith("."), scenario.name
    assert len(set(rows)) == len(rows)
