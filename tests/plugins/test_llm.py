"""The plugin of llm, run by the real llm: models, levels, streams, tools, schemas, conversations."""

import json
import sys

import pytest

llm = pytest.importorskip("llm")

import llm_pondero  # noqa: E402 - needs llm
from click.testing import CliRunner  # noqa: E402 - see above
from llm.cli import cli  # noqa: E402 - see above
from llm.plugins import load_plugins, pm  # noqa: E402 - see above

import pondero  # noqa: E402 - see above

pytestmark = [
    pytest.mark.judge,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
CLAUDE, GEMINI, GPT = (
    f"pondero/{name}"
    for name in ("anthropic:claude-opus-5", "google:gemini-3-flash-preview", "openai:gpt-5.5")
)


@pytest.fixture(autouse=True)
def plugin(tmp_path, monkeypatch):
    """Load the plugin for one test, with llm's files in a folder of its own."""
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    monkeypatch.setattr(sys, "_called_from_test", True, raising=False)
    load_plugins()
    pm.register(llm_pondero, "pondero")
    yield
    pm.unregister(llm_pondero)


@pytest.fixture
def call():
    """Run llm's own command line, and return what it printed on each stream."""

    def run(*words, code=0):
        ran = CliRunner().invoke(cli, [*words], catch_exceptions=True)
        assert ran.exit_code == code, (ran.output, ran.exception)
        return ran.stdout, ran.stderr

    return run


def bodies(emulator):
    return [entry.body for entry in emulator.log.entries]


def test_an_answer_is_on_stdout_and_the_thinking_before_it_on_stderr(call, emulator):
    answer, thinking = call(
        "-m", CLAUDE, "-o", "think", "high", "-o", "offline", "1", "What is 17 * 23?"
    )
    assert answer == "17 * 23 = 391\n"
    assert "First, 17 * 23" in thinking
    assert bodies(emulator)[0]["output_config"] == {"effort": "high"}


@pytest.mark.parametrize("model", [CLAUDE, GEMINI, GPT])
def test_a_level_is_what_pondero_plans_for_it(call, emulator, model):
    call("-m", model, "-o", "think", "low", "-o", "offline", "1", "-R", "What is 17 * 23?")
    name = model.removeprefix("pondero/")
    (body,) = bodies(emulator)
    assert pondero.plan(name, "low").fields.items() <= body.items()


def test_an_unknown_level_is_refused_with_the_ones_there_are(call):
    assert (
        "minimal" in call("-m", CLAUDE, "-o", "think", "hihg", "-o", "offline", "1", "x", code=1)[1]
    )


def test_a_refusal_is_one_line_and_no_traceback(call, emulator, monkeypatch):
    monkeypatch.delattr(sys, "_called_from_test")
    emulator.faults.append(pondero.emulator.faults.Fault.parse(401))
    said = call("-m", CLAUDE, "-o", "offline", "1", "hello", code=1)[1]
    assert said.startswith("Error: ")
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    "way", [(), ("--no-stream",), ("--async",)], ids=["streamed", "whole", "async"]
)
@pytest.mark.parametrize("model", [CLAUDE, GEMINI, GPT])
def test_what_is_logged_has_the_usage_the_thinking_and_what_was_sent(call, emulator, model, way):
    call("-m", model, "-o", "think", "medium", "-o", "offline", "1", *way, "What is 17 * 23?")
    (logged,) = json.loads(call("logs", "list", "--json")[0])
    assert logged["response"] == "17 * 23 = 391"
    details = logged["token_details"]
    details = json.loads(details) if isinstance(details, str) else details
    assert 0 < details["thinking"] < logged["output_tokens"]
    assert logged["input_tokens"] > 0
    sent = logged["response_json"]
    sent = json.loads(sent) if isinstance(sent, str) else sent
    assert sent["sent"] == pondero.plan(model.removeprefix("pondero/"), "medium").fields
    assert sent["verdict"] == "as_planned"
    assert bodies(emulator)[0].get("stream") is not (way == ("--no-stream",)) or model == GEMINI


@pytest.mark.parametrize("model", [CLAUDE, GEMINI, GPT])
def test_a_conversation_goes_on_with_the_seals_it_had(call, emulator, model):
    """Each call loads the conversation from llm's database, as another process would."""
    asked = ("-m", model, "-o", "think", "high", "-o", "offline", "1")
    call(*asked, "What is 17 * 23?")
    answer, _ = call("-c", *asked, "And what is 391 - 1?")
    assert answer == "391 - 1 = 390\n"
    first, second = bodies(emulator)
    seals = sealed(json.dumps(second))
    assert seals, second
    assert not sealed(json.dumps(first))


def sealed(body):
    """Return the proofs of thought in a request's text, in each wire's own word for them."""
    return [
        word
        for word in ('"signature":', '"thoughtSignature":', '"encrypted_content":')
        if word in body
    ]


def test_a_conversation_goes_on_with_another_model_without_its_seals(call, emulator):
    call("-m", CLAUDE, "-o", "think", "high", "-o", "offline", "1", "What is 17 * 23?")
    call("-c", "-m", GEMINI, "-o", "think", "low", "-o", "offline", "1", "And what is 391 - 1?")
    second = json.dumps(bodies(emulator)[1])
    assert "17 * 23 = 391" in second
    claude = bodies(emulator)[0]
    assert claude["model"] == "claude-opus-5"
    assert "First, 17 * 23" not in second


@pytest.mark.parametrize("model", [CLAUDE, GEMINI, GPT])
def test_a_tool_is_called_and_its_result_answered(call, emulator, model):
    code = "def get_weather(city: str) -> str:\n    'Return the weather in a city.'\n    return f'{city}: sunny, 21 degrees'"
    answer, _ = call(
        "-m",
        model,
        "-o",
        "think",
        "low",
        "-o",
        "offline",
        "1",
        "--functions",
        code,
        "What is the weather in Paris?",
    )
    assert "sunny" in answer
    asked, answered = bodies(emulator)
    assert "get_weather" in json.dumps(asked)
    assert "sunny, 21 degrees" in json.dumps(answered)
    assert sealed(
        json.dumps(answered)
    )  # the call came with proof of thought, and went back with it


def test_a_schema_makes_the_answer_json(call, emulator):
    schema = json.dumps(
        {
            "type": "object",
            "properties": {"answer": {"type": "integer"}},
            "required": ["answer"],
            "additionalProperties": False,
        }
    )
    answer, _ = call("-m", GPT, "-o", "offline", "1", "-R", "--schema", schema, "What is 17 * 23?")
    assert json.loads(answer) == {"answer": 391}


def test_a_picture_and_a_system_prompt_go_along(call, emulator, tmp_path):
    picture = tmp_path / "dot.png"
    picture.write_bytes(
        bytes.fromhex(
            "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
        )
    )
    call("-m", CLAUDE, "-o", "offline", "1", "-s", "Be brief.", "-a", str(picture), "What is this?")
    (body,) = bodies(emulator)
    assert "Be brief." in json.dumps(body["system"])
    assert body["messages"][0]["content"][1]["source"]["media_type"] == "image/png"


def test_a_key_that_llm_keeps_is_used_and_pondero_s_own_way_is_the_rest(call, monkeypatch):
    asked = []
    monkeypatch.setattr(pondero, "Client", lambda **given: asked.append(given["keys"]) or 1 / 0)
    model = llm.get_model(CLAUDE)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            model.prompt("x").text()
        call("keys", "set", "anthropic", "--value", "a-kept-key")
    assert asked == [None, {"anthropic": "a-kept-key"}]
