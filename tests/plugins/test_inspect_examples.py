"""What inspect_ai's own documentation and examples show, with our models, at the emulator."""

import json

import pytest

inspect_ai = pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")

import inspect_pondero  # noqa: E402, F401 - needs inspect_ai; it registers the models
from inspect_ai.agent import Agent, AgentState, agent, react  # noqa: E402 - see above
from inspect_ai.dataset import MemoryDataset, Sample  # noqa: E402 - see above
from inspect_ai.model import ChatMessageSystem, GenerateConfig, get_model  # noqa: E402 - see above
from inspect_ai.scorer import exact, includes, match, model_graded_fact  # noqa: E402 - see above
from inspect_ai.solver import (  # noqa: E402 - see above
    chain_of_thought,
    generate,
    multiple_choice,
    self_critique,
    system_message,
    use_tools,
)
from inspect_ai.tool import ToolError, tool  # noqa: E402 - see above

from pondero.emulator import ScriptedCall, ScriptedTurn  # noqa: E402 - see above

pytestmark = [pytest.mark.judge, pytest.mark.filterwarnings("ignore")]
EACH = pytest.mark.parametrize(
    "model", ["claude-opus-5/high", "gpt-5.5/low", "gemini-3-flash-preview/medium"]
)


@pytest.fixture
def evaluate(emulator, tmp_path):
    """Evaluate a task with one of our models; return its log, which must be a success."""

    def run(task, model, **more):
        asked = get_model(f"pondero/{model}", offline=True, memoize=False)
        (log,) = inspect_ai.eval(task, model=asked, log_dir=str(tmp_path), display="none", **more)
        assert log.status == "success", log.error
        return log

    return run


def accuracy(log):
    metrics = log.results.scores[0].metrics
    return (metrics.get("accuracy") or metrics["mean"]).value


@EACH
def test_hello_world(evaluate, emulator, model):
    emulator.expect("Hello World")
    dataset = [Sample(input="Just reply with Hello World", target="Hello World")]
    task = inspect_ai.Task(dataset=dataset, solver=[generate()], scorer=exact())
    log = evaluate(task, model)
    assert accuracy(log) == 1.0
    assert log.eval.model == f"pondero/{model}"


@EACH
def test_theory_of_mind_with_a_critique_and_a_model_that_grades(evaluate, emulator, model):
    story = "Jackson entered the hall. The boots are in the bathtub. Where are the boots?"
    emulator.expect(
        "Step by step: the bathtub.", "The critique.", "They are in the bathtub.", "GRADE: C"
    )
    task = inspect_ai.Task(
        dataset=[Sample(input=story, target="bathtub")],
        solver=[chain_of_thought(), generate(), self_critique()],
        scorer=model_graded_fact(),
    )
    assert accuracy(evaluate(task, model)) == 1.0
    assert len(emulator.log.entries) == 4


@tool
def add():
    async def execute(x: int, y: int) -> int:
        """Add two numbers.

        Args:
            x: First number to add.
            y: Second number to add.
        """
        return x + y

    return execute


@tool
def fail():
    async def execute(path: str) -> str:
        """List the files in a directory.

        Args:
            path: Directory.
        """
        raise ToolError(f"no such directory: {path}")

    return execute


def calls(*named):
    return ScriptedTurn(
        thinking="Hm.",
        tool_calls=tuple(ScriptedCall(name, arguments) for name, arguments in named),
    )


@EACH
def test_the_addition_problem_with_a_tool(evaluate, emulator, model):
    emulator.expect(calls(("add", {"x": 1, "y": 1})), "The sum is 2")
    task = inspect_ai.Task(
        dataset=[Sample(input="What is 1 + 1?", target=["2", "2.0"])],
        solver=[use_tools(add()), generate()],
        scorer=match(numeric=True),
    )
    assert accuracy(evaluate(task, model)) == 1.0


@EACH
def test_two_calls_at_once_and_one_that_fails(evaluate, emulator, model):
    emulator.expect(
        calls(("add", {"x": 1, "y": 1}), ("add", {"x": 2, "y": 2})),
        calls(("fail", {"path": "/nowhere"})),
        "2 4",
    )
    task = inspect_ai.Task(
        dataset=[Sample(input="Add 1+1 and 2+2 in parallel", target=["2 4"])],
        solver=[system_message("Use the tools."), use_tools([add(), fail()]), generate()],
        scorer=includes(),
    )
    assert accuracy(evaluate(task, model)) == 1.0
    last = json.dumps(emulator.log.entries[2].body)
    assert "no such directory: /nowhere" in last
    assert "Use the tools." in last


@EACH
def test_multiple_choice(evaluate, emulator, model):
    emulator.expect("ANSWER: B")
    task = inspect_ai.Task(
        dataset=MemoryDataset([Sample(input="2 + 2?", choices=["3", "4", "5"], target="B")]),
        solver=multiple_choice(),
        scorer=inspect_ai.scorer.choice(),
    )
    assert accuracy(evaluate(task, model)) == 1.0


@EACH
def test_an_agent_that_submits_its_answer(evaluate, emulator, model):
    emulator.expect(
        calls(("add", {"x": 40, "y": 2})), calls(("submit", {"answer": "42"})), "never asked"
    )
    task = inspect_ai.Task(
        dataset=[Sample(input="What is 40 + 2?", target="42")],
        solver=react(prompt="You add numbers.", tools=[add()]),
        scorer=includes(),
    )
    assert accuracy(evaluate(task, model, message_limit=20)) == 1.0


@EACH
def test_an_agent_of_one_s_own_asks_the_model_itself(evaluate, emulator, model):
    @agent
    def haiku() -> Agent:
        async def execute(state: AgentState) -> AgentState:
            state.messages.append(ChatMessageSystem(content="Answer as a haiku."))
            state.output = await get_model().generate(
                state.messages, config=GenerateConfig(max_tokens=9000)
            )
            state.messages.append(state.output.message)
            return state

        return execute

    emulator.expect("An old silent pond")
    dataset = [Sample(input="A poem, please", target="pond")]
    task = inspect_ai.Task(dataset=dataset, solver=haiku(), scorer=includes())
    assert accuracy(evaluate(task, model)) == 1.0
    assert "9000" in json.dumps(emulator.log.entries[0].body)
