"""One tool loop and one more turn with openai-agents; gateway and model are in variables.

The front "stored" is the Responses API with the history on the server.
"""

import os
from pathlib import Path

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from openai.types.shared import Reasoning

ENV = os.environ
KINDS = {
    "responses": OpenAIResponsesModel,
    "stored": OpenAIResponsesModel,
    "chat": OpenAIChatCompletionsModel,
}


def read_note(name: str) -> str:
    """Read a note."""
    return Path(ENV["NOTE"]).read_text("utf-8")


def main() -> None:
    """Ask twice, the second time after the first answer."""
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=f"{ENV['URL_OF_GATEWAY']}/v1", api_key=ENV["KEY"], max_retries=0)
    agent = Agent(
        name="reader",
        instructions="You are a careful reader.",
        tools=[function_tool(read_note)],
        model=KINDS[ENV["FRONT"]](model=ENV["MODEL"], openai_client=client),
        model_settings=ModelSettings(reasoning=Reasoning(effort="high")),
    )
    if ENV["FRONT"] == "stored":
        first = Runner.run_sync(agent, ENV["ASK"], auto_previous_response_id=True)
        print(first.final_output)
        before = first.last_response_id
        second = Runner.run_sync(
            agent, ENV["SUM"], previous_response_id=before, auto_previous_response_id=True
        )
        print(second.final_output)
        return
    first = Runner.run_sync(agent, ENV["ASK"])
    print(first.final_output)
    again = [*first.to_input_list(), {"role": "user", "content": ENV["SUM"]}]
    print(Runner.run_sync(agent, again).final_output)


main()
