"""examples/agent.py with pydantic-ai; ``pip install 'pydantic-ai-slim[mcp,anthropic]'``."""

import argparse
import json
import sys
from collections.abc import AsyncIterable, Callable
from pathlib import Path
from typing import Any

from fastmcp.client.transports import StdioTransport
from pydantic_ai import (
    Agent,
    AgentRunResult,
    AgentStreamEvent,
    DeferredToolRequests,
    DeferredToolResults,
    FunctionToolCallEvent,
    ModelMessage,
    PartDeltaEvent,
    PartStartEvent,
    RunContext,
    TextPart,
    TextPartDelta,
    UsageLimits,
)
from pydantic_ai.mcp import MCPToolset

NOTES_SERVER = Path(__file__).parents[1] / "notes_server.py"
READ_ONLY = {"count_words", "list_notes"}
Output = str | DeferredToolRequests


def count_words(text: str) -> int:
    """Count the words of a text.

    Args:
        text: any text
    """
    return len(text.split())


def ask_person(name: str, arguments: dict[str, Any]) -> bool:
    answer = input(f"May {name} run with {json.dumps(arguments)}? [y/N] ")
    return answer.strip().lower() == "y"


def make_agent(model: str) -> Agent[None, Output]:
    notes = MCPToolset(StdioTransport(sys.executable, [str(NOTES_SERVER)]))
    return Agent(
        model,
        instructions="You keep the user's notes. Use the tools; never invent a note.",
        tools=[count_words],
        toolsets=[
            notes.approval_required(lambda _context, tool, _arguments: tool.name not in READ_ONLY)
        ],
        output_type=[str, DeferredToolRequests],
        model_settings={"thinking": "medium"},
    )


async def show(_context: RunContext[None], events: AsyncIterable[AgentStreamEvent]) -> None:
    async for event in events:
        match event:
            case PartStartEvent(part=TextPart(content=text)):
                print(text, end="", flush=True)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                print(text, end="", flush=True)
            case FunctionToolCallEvent():
                print(f"[{event.part.tool_name} {event.part.args}]", file=sys.stderr)
            case _:
                pass


def run_turn(
    agent: Agent[None, Output],
    prompt: str,
    history: list[ModelMessage],
    approve: Callable[[str, dict[str, Any]], bool],
) -> list[ModelMessage]:
    """Run a turn; a run ends at each call that needs approval, and another one continues it."""
    result: AgentRunResult[Output] = agent.run_sync(
        prompt,
        message_history=history,
        event_stream_handler=show,
        usage_limits=UsageLimits(request_limit=8),
    )
    while isinstance(waiting := result.output, DeferredToolRequests):
        decisions = DeferredToolResults()
        for call in waiting.approvals:
            decisions.approvals[call.tool_call_id] = approve(call.tool_name, call.args_as_dict())
        result = agent.run_sync(
            message_history=result.all_messages(),
            deferred_tool_results=decisions,
            event_stream_handler=show,
            usage_limits=UsageLimits(request_limit=8),
        )
    print()
    return result.all_messages()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Talk to an agent that keeps notes.")
    parser.add_argument("prompts", nargs="*", help="read from the terminal if there are none")
    parser.add_argument("--model", default="anthropic:claude-opus-5")
    parser.add_argument("--yes", action="store_true", help="approve every tool")
    chosen = parser.parse_args(arguments)
    approve = (lambda _name, _arguments: True) if chosen.yes else ask_person
    agent = make_agent(chosen.model)
    history: list[ModelMessage] = []
    for prompt in chosen.prompts or iter(lambda: input("> "), ""):
        history = run_turn(agent, prompt, history, approve)


if __name__ == "__main__":
    main()
