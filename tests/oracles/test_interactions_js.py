"""Google's JavaScript SDK at the emulator and through the gateway: interactions of every kind.

It runs where node is, and ``@google/genai`` in ``build/js`` or in the folder that ``PONDERO_JS``
names; ``make judge-js`` installs it and runs this.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pondero.emulator import Emulator, run_emulator_in_thread
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, ServerConfig
from pondero.gateway.server.run import run_gateway_in_thread

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("PONDERO_JS") or ROOT / "build" / "js")
PROGRAM = Path(__file__).with_name("google_genai.mjs")
NODE = shutil.which("node")
IS_THERE = NODE is not None and (FOLDER / "node_modules" / "@google" / "genai").is_dir()
pytestmark = [
    pytest.mark.judge,
    pytest.mark.skipif(not IS_THERE, reason="no node, or no @google/genai: run make judge-js"),
]

MODEL = "gemini-3-flash-preview"
UPSTREAMS = {
    "gateway": f"google-interactions:{MODEL}",
    "generateContent": f"google:{MODEL}",
    "claude": "anthropic:claude-opus-5",
}
SUM, ANSWER = "What is 17 * 23?", "391"
QUESTION = "What is the weather in Bern?"
SHOWN = {"thinking_level": "low", "thinking_summaries": "auto"}
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "Tells the weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}


class SdkError(Exception):
    """What the SDK threw."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(told["message"])
        self.kind, self.status = told["kind"], told.get("status")


class Sdk:
    """The SDK in a process of its own."""

    def __init__(self, url: str, version: str) -> None:
        assert NODE is not None
        command = [NODE, str(PROGRAM), str(FOLDER), url, version]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def call(self, method: str, *args: Any) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"method": method, "args": args}) + "\n")
        stdin.flush()
        told = json.loads(stdout.readline())
        if "error" in told:
            raise SdkError(told["error"])
        return told["value"]

    def create(self, **fields: Any) -> Any:
        return self.call("create", {"model": MODEL, **fields})

    def close(self) -> None:
        self._process.communicate()


@contextmanager
def open_place(place: str) -> Iterator[str]:
    if place == "emulator":
        with run_emulator_in_thread(Emulator()) as url:
            yield url
    else:
        routes = (GatewayRoute(match="*", to=(UPSTREAMS[place],), retries=0),)
        config = GatewayConfig(ServerConfig(port=0), routes)
        with run_gateway_in_thread(config, transport=Emulator()) as url:
            yield url


@pytest.fixture(scope="module", params=["emulator", *UPSTREAMS])
def sdk(request) -> Iterator[Sdk]:
    with open_place(request.param) as url:
        made = Sdk(url, "v1beta")
        yield made
        made.close()


@pytest.fixture(scope="module", params=["emulator", "gateway"])
def storing(request) -> Iterator[Sdk]:
    """Places where interactions are stored."""
    with open_place(request.param) as url:
        made = Sdk(url, "v1" if request.param == "emulator" else "v1beta")
        yield made
        made.close()


def kinds(steps: list[dict[str, Any]]) -> list[str]:
    return [step["type"] for step in steps]


def test_an_answer_has_its_thought_its_text_and_its_counts(sdk):
    got = sdk.create(input=SUM, generation_config=SHOWN)
    assert got["status"] == "completed"
    assert ANSWER in got["output_text"]
    assert kinds(got["steps"]) == ["thought", "model_output"]
    assert got["steps"][0]["signature"]
    assert got["steps"][0]["summary"][0]["text"]
    used = got["usage"]
    names = ("total_input_tokens", "total_output_tokens", "total_thought_tokens")
    assert sum(used[name] for name in names) == used["total_tokens"]


def test_a_stream_says_the_same_event_by_event(sdk):
    events = sdk.create(input=SUM, generation_config=SHOWN, stream=True)
    names = [event["event_type"] for event in events]
    assert names[:3] == ["interaction.created", "interaction.status_update", "step.start"]
    assert names[-1] == "interaction.completed"
    deltas = [event["delta"] for event in events if event["event_type"] == "step.delta"]
    assert ANSWER in "".join(each["text"] for each in deltas if each["type"] == "text")
    assert [each for each in deltas if each["type"] == "thought_signature"]
    assert events[-1]["interaction"]["usage"]["total_tokens"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_loop_goes_on_without_a_store(sdk, stream):
    fields = {"tools": [WEATHER], "store": False, "generation_config": SHOWN}
    if stream:
        steps = _gather(sdk.create(input=QUESTION, stream=True, **fields))
    else:
        steps = sdk.create(input=QUESTION, **fields)["steps"]
    assert kinds(steps) == ["thought", "function_call"]
    call = steps[-1]
    assert (call["name"], call["arguments"]) == ("get_weather", {"city": "Bern"})
    first = {"type": "user_input", "content": [{"type": "text", "text": QUESTION}]}
    result = {"type": "function_result", "call_id": call["id"], "result": "sunny"}
    got = sdk.create(input=[first, *steps, result], **fields)
    assert got["status"] == "completed"
    assert "sunny" in got["output_text"]


def _gather(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the steps of a stream, as the SDK's pages put them together."""
    steps: dict[int, dict[str, Any]] = {}
    for event in events:
        if event["event_type"] == "step.start":
            steps[event["index"]] = dict(event["step"])
        elif event["event_type"] == "step.delta":
            step, delta = steps[event["index"]], event["delta"]
            match delta["type"]:
                case "thought_summary":
                    step.setdefault("summary", []).append(delta["content"])
                case "thought_signature":
                    step["signature"] = delta["signature"] or step.get("signature")
                case "arguments_delta":
                    step["written"] = step.get("written", "") + delta["arguments"]
    for step in steps.values():
        if "written" in step:
            step["arguments"] = json.loads(step.pop("written"))
    return [steps[index] for index in sorted(steps)]


def test_a_tool_loop_goes_on_by_id(storing):
    asked = storing.create(input=QUESTION, tools=[WEATHER])
    assert asked["status"] == "requires_action"
    call = asked["steps"][-1]
    result = {"type": "function_result", "call_id": call["id"], "result": "sunny"}
    got = storing.create(input=[result], tools=[WEATHER], previous_interaction_id=asked["id"])
    assert "sunny" in got["output_text"]


def test_an_answer_in_the_background_is_fetched_and_another_cancelled(storing):
    made = storing.create(input=SUM, background=True)
    assert made["status"] == "in_progress"
    looks = [storing.call("get", made["id"])["status"] for _ in range(2)]
    assert looks == ["in_progress", "completed"]
    other = storing.create(input=SUM, background=True, generation_config=SHOWN)
    assert storing.call("cancel", other["id"])["status"] == "cancelled"


def test_an_answer_is_fetched_streamed_again_and_deleted(storing):
    made = storing.create(input="My name is Ada.")
    fetched = storing.call("get", made["id"])
    assert fetched["steps"][0]["type"] == "user_input"
    assert fetched["output_text"] == made["output_text"]
    events = storing.call("get", made["id"], {"stream": True})
    assert events[-1]["event_type"] == "interaction.completed"
    after = events[len(events) // 2]["event_id"]
    rest = storing.call("get", made["id"], {"stream": True, "last_event_id": after})
    assert rest == events[len(events) // 2 + 1 :]
    storing.call("delete", made["id"])
    for method in ("get", "delete", "cancel"):
        with pytest.raises(SdkError) as caught:
            storing.call(method, made["id"])
        assert (caught.value.kind, caught.value.status) == ("NotFoundError", 404)


def test_a_rejection_reaches_the_program_as_the_sdks_error(storing):
    with pytest.raises(SdkError, match="Unknown parameter 'messages'") as caught:
        storing.create(input="hi", messages=[])
    assert (caught.value.kind, caught.value.status) == ("BadRequestError", 400)
