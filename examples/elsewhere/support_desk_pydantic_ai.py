"""examples/support_desk with pydantic-ai: the application and its tests in one file."""

from dataclasses import dataclass
from typing import Literal

import pytest
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.exceptions import AgentRunError, ModelHTTPError
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel

ORDERS = {"A17": "sent on Monday", "A18": "waiting for payment"}
HANDED_OVER = "A colleague will write to you today."


@dataclass
class Ticket:
    topic: Literal["order", "refund", "other"]
    order: str | None


def find_order(number: str) -> str:
    """Return the state of an order."""
    return ORDERS.get(number, "no such order")


READER = Agent("openai-responses:gpt-5.5", output_type=Ticket, model_settings={"thinking": False})
WRITER = Agent("anthropic:claude-opus-5", tools=[find_order], model_settings={"thinking": "low"})


def answer(message: str) -> str:
    try:
        if READER.run_sync(f"What is this about?\n\n{message}").output.topic == "refund":
            return HANDED_OVER
        return WRITER.run_sync(message).output
    except AgentRunError:
        return HANDED_OVER


def scripted(*answers: ModelResponse) -> Model:
    waiting = iter(answers)

    def reply(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        return next(waiting)

    return FunctionModel(reply)


def ticket(topic: str) -> ModelResponse:
    return ModelResponse([ToolCallPart("final_result", {"topic": topic, "order": "A17"})])


def test_the_order_is_looked_up_before_the_answer() -> None:
    look_up = ModelResponse([ToolCallPart("find_order", {"number": "A17"})])
    tell = ModelResponse([TextPart("It was sent on Monday.")])
    with (
        READER.override(model=scripted(ticket("order"))),
        WRITER.override(model=scripted(look_up, tell)),
    ):
        assert answer("Where is A17?") == "It was sent on Monday."


def test_a_refund_goes_to_a_person() -> None:
    with READER.override(model=scripted(ticket("refund"))):
        assert answer("I want my money back.") == HANDED_OVER


@pytest.mark.parametrize("status", [429, 500])
def test_no_failure_loses_a_message(status: int) -> None:
    def fail(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        raise ModelHTTPError(status, "gpt-5.5")

    with READER.override(model=FunctionModel(fail)):
        assert answer("Where is A17?") == HANDED_OVER
