"""The provider for inspect_ai, run by the real one: an evaluation, offline, with tools."""

import asyncio
import json
import re
from pathlib import Path

import pytest

inspect_ai = pytest.importorskip("inspect_ai")

import inspect_pondero  # noqa: E402 - needs inspect_ai
from inspect_ai.dataset import Sample  # noqa: E402 - see above
from inspect_ai.model import ChatMessageAssistant, GenerateConfig, get_model  # noqa: E402 - see above
from inspect_ai.scorer import includes  # noqa: E402 - see above
from inspect_ai.solver import generate, use_tools  # noqa: E402 - see above
from inspect_ai.tool import tool  # noqa: E402 - see above
from tests.plugins.fields import within  # noqa: E402 - see above

import pondero  # noqa: E402 - see above
from pondero.canon import Signature, Thinking  # noqa: E402 - see above
from pondero.emulator import Fault  # noqa: E402 - see above

pytestmark = [pytest.mark.judge, pytest.mark.filterwarnings("ignore")]

TOO_LONG = "prompt is too long: 250000 tokens > 200000 maximum"  # in the words of the service


@tool
def get_weather():
    async def execute(city: str) -> str:
        """Return the weather in a city.

        Args:
            city: The city.
        """
        return f"{city}: sunny, 21 degrees"

    return execute


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tmp_path_factory.mktemp("logs"))


def test_an_evaluation_counts_thinking_calls_tools_and_gives_seals_back(emulator, folder):
    questions = [
        Sample(input="What is 17 * 23?", target="391"),
        Sample(input="What is the weather in Paris?", target="sunny"),
        Sample(input="What is 2 + 2?", target="4"),
    ]
    task = inspect_ai.Task(
        dataset=questions, solver=[use_tools(get_weather()), generate()], scorer=includes()
    )
    name = "pondero/claude-opus-5/high"
    (log,) = inspect_ai.eval(
        task, model=name, model_args={"offline": True}, log_dir=folder, display="none"
    )
    assert log.status == "success"
    assert log.results.scores[0].metrics["accuracy"].value == 1.0
    usage = log.stats.model_usage[name]
    assert 0 < usage.reasoning_tokens < usage.output_tokens
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens
    roles = [[each.role for each in sample.messages] for sample in log.samples]
    assert roles[1] == ["user", "assistant", "tool", "assistant"]
    sent = [entry.body for entry in emulator.log.entries]
    assert len(sent) == 4
    assert all(body["output_config"] == {"effort": "high"} for body in sent)
    (after,) = (body for body in sent if len(body["messages"]) > 1)
    assert '"signature":' in json.dumps(after["messages"][1])
    assert "sunny, 21 degrees" in json.dumps(after["messages"][2])
    assert all(sample.output.metadata["verdict"] == "as_planned" for sample in log.samples)


@pytest.mark.parametrize("model", ["claude-opus-5", "gemini-3-flash-preview", "gpt-5.5"])
@pytest.mark.parametrize(
    ("said", "wish"),
    [
        ({"reasoning_effort": "low"}, "low"),
        ({"reasoning_effort": "none"}, "off"),
        ({"reasoning_tokens": 5000}, 5000),
        ({}, "high"),
    ],
)
def test_a_level_is_what_pondero_plans_for_it(emulator, model, said, wish):
    asked = get_model(f"pondero/{model}/high", offline=True, memoize=False)
    config = GenerateConfig(**said)
    output = asyncio.run(asked.generate("What is 17 * 23?", config=config))
    assert output.completion == "17 * 23 = 391"
    (entry,) = emulator.log.entries
    assert within(pondero.plan(model, wish).fields, entry.body)


def test_a_conversation_too_long_is_a_stop_and_no_error(emulator):
    emulator.faults.append(Fault(kind="status", status=400, message=TOO_LONG))
    model = get_model("pondero/claude-opus-5", offline=True, memoize=False)
    output = asyncio.run(model.generate("hello"))
    assert output.stop_reason == "model_length"


def answer(**changed):
    kept = pondero.Message(
        "assistant",
        (Thinking("hm", Signature("anthropic", "proof", "claude-opus-5")), pondero.Text("Yes.")),
    )
    output = inspect_pondero._output(pondero.Reply(kept, "stop"), "claude-opus-5")
    (choice,) = output.choices
    return kept, choice.message.model_copy(update=changed)


def test_an_answer_comes_back_as_it_was_also_from_a_log():
    kept, given = answer()
    again = ChatMessageAssistant.model_validate_json(given.model_dump_json())
    assert inspect_pondero.conversation_of([again]) == ([], [kept])


def test_an_edited_answer_is_taken_as_it_is_now():
    _, given = answer(content="No.")
    (made,) = inspect_pondero.conversation_of([given])[1]
    assert made["content"] == "No."


def test_thinking_that_was_taken_out_stays_out():
    kept, given = answer(content="Yes.")
    (made,) = inspect_pondero.conversation_of([given])[1]
    assert made.parts == kept.parts[1:]


@pytest.mark.parametrize("page", ["docs/plugins.md", "plugins/inspect/README.md"])
def test_the_task_of_a_page_runs(page, tmp_path):
    text = (Path(__file__).parents[2] / page).read_text("utf-8")
    (block,) = re.findall(r'```python title="arithmetic.py"\n(.*?)```', text, re.DOTALL)
    names = {}
    exec(compile(block, "arithmetic.py", "exec"), names)
    asked = get_model("pondero/claude-opus-5/low", offline=True)
    (log,) = inspect_ai.eval(
        names["arithmetic"](), model=asked, limit=3, log_dir=str(tmp_path), display="none"
    )
    assert log.status == "success"
    assert log.results.scores[0].metrics["accuracy"].value == 1
