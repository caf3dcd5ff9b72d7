"""Tools as users of other libraries have them: dicts of any API, pydantic, partials, objects."""

import functools
from typing import Any

import pydantic
import pytest

import pondero
from pondero.canon import Tool, ToolCall
from pondero.client.tools.tools import Tools
from pondero.emulator import Emulator
from pondero.errors import BadParameter

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SAID = {"name": "get_weather", "description": "Return the weather."}
FORMS = {
    "chat": {"type": "function", "function": {**SAID, "parameters": CITY}},
    "chat without type": {"function": {**SAID, "parameters": CITY}},
    "responses": {"type": "function", **SAID, "parameters": CITY},
    "messages": {**SAID, "input_schema": CITY},
    "messages with type": {"type": "custom", **SAID, "input_schema": CITY},
    "converse": {"toolSpec": {**SAID, "inputSchema": {"json": CITY}}},
    "declaration": {**SAID, "parameters": CITY},
    "mcp": {**SAID, "inputSchema": CITY},
}
VENDORS = ("chat", "responses", "messages")
MODELS = (
    "claude-opus-5",
    "openai:gpt-5.5",
    "openai-chat:gpt-4.1",
    "google:gemini-3-flash-preview",
    "deepseek:deepseek-v4-pro",
    "bedrock:us.anthropic.claude-sonnet-4-6",
    "google-interactions:gemini-3-flash-preview",
)


class Place(pydantic.BaseModel):
    """A place on a map."""

    city: str
    zip: int | None = None


class Bare(pydantic.BaseModel):
    city: str


def look(place: Place, days: int = 1, *, more: list[Place] | None = None) -> str:
    """Return the weather.

    Args:
        place: where to look
    """
    assert isinstance(place, Place)
    return f"{place.city} {days} {[each.city for each in more or ()]}"


def said(result: Any) -> str:
    return "".join(part.text for part in result.content)


@pytest.mark.parametrize("form", [FORMS[name] for name in VENDORS], ids=VENDORS)
@pytest.mark.parametrize("model", MODELS[:5] + MODELS[6:])
def test_a_function_in_any_form_is_called_on_every_dialect(model, form):
    with pondero.Client(transport=Emulator()) as client:
        reply = client.ask(model, "What is the weather in Bern?", tools=[form], max_tokens=4_000)
    (call,) = reply.tool_calls
    assert call.name == "get_weather"
    assert set(call.arguments) == {"city"}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_is_the_same_tool(form):
    assert Tools([form]).tools == [Tool("get_weather", "Return the weather.", CITY)]


def test_a_setting_that_one_api_has_stays_for_that_api():
    form = {**FORMS["messages"], "defer_loading": True, "cache_control": {"type": "ephemeral"}}
    (tool,) = Tools([form]).tools
    assert (tool.raw, tool.dialect, tool.parameters) == (form, "anthropic", CITY)
    assert tool.cache is not None
    with pondero.Client(transport=Emulator()) as client:
        reply = client.ask("openai:gpt-5.5", "What is the weather in Bern?", tools=[form])
    assert reply.tool_calls


def test_a_tool_of_a_service_stays_as_it_is():
    form = {"type": "web_search_20250305", "name": "web_search"}
    assert Tools([form]).tools == [Tool("web_search", raw=form)]


def test_a_pydantic_parameter_is_read_as_its_model():
    tools = Tools([look])
    (tool,) = tools.tools
    assert tool.parameters["properties"]["place"]["description"] == "where to look"
    assert tool.parameters["properties"]["days"]["default"] == 1
    assert tool.parameters["required"] == ["place"]
    assert tool.parameters["additionalProperties"] is False
    given = {"place": {"city": "Bern"}, "more": [{"city": "Rome"}]}
    assert said(tools.run(ToolCall("1", "look", given))) == "Bern 1 ['Rome']"
    wrong = tools.run(ToolCall("2", "look", {"place": {}}))
    assert wrong.error
    assert "city" in said(wrong)
    assert tools.run(ToolCall("3", "look", {**given, "colour": "red"})).error


@pytest.mark.parametrize("model", MODELS)  # Ollama cannot be made to call a tool
def test_pydantic_parameters_are_offered_everywhere(model):
    with pondero.Client(transport=Emulator()) as client:
        reply = client.ask(
            model, "Look.", tools=[look], tool_choice="required", thinking_effort="off"
        )
    (call,) = reply.tool_calls
    assert not Tools([look]).run(call).error


def test_a_pydantic_class_is_a_tool_with_its_own_words():
    documented, bare = Tools([Place, Bare]).tools
    assert documented.description == "A place on a map."
    assert bare.description == ""
    assert documented.parameters["required"] == ["city"]
    assert "description" not in documented.parameters
    result = Tools([Place]).run(ToolCall("1", "Place", {"city": "Bern", "zip": 3000}))
    assert said(result) == '{"city":"Bern","zip":3000}'
    assert Tools([Place]).run(ToolCall("1", "Place", {"zip": "x"})).error


def test_a_partial_has_the_name_of_its_function_and_hides_what_it_sets():
    def search(database: object, words: str, limit: int = 3) -> str:
        """Search the database."""
        return f"{database} {words} {limit}"

    for made in (functools.partial(search, "db"), functools.partial(search, database="db")):
        tools = Tools([made])
        (tool,) = tools.tools
        assert (tool.name, tool.description) == ("search", "Search the database.")
        assert set(tool.parameters["properties"]) == {"words", "limit"}
        assert said(tools.run(ToolCall("1", "search", {"words": "a"}))) == "db a 3"
    named = functools.partial(search, "db")
    named.__name__ = "find"
    assert Tools([named]).tools[0].name == "find"


def test_an_object_with_a_call_method_is_a_tool():
    class Weather:
        """Knows the weather."""

        def __call__(self, city: str) -> str:
            return f"sunny in {city}"

    tools = Tools([Weather()])
    (tool,) = tools.tools
    assert (tool.name, tool.description) == ("Weather", "Knows the weather.")
    assert said(tools.run(ToolCall("1", "Weather", {"city": "Bern"}))) == "sunny in Bern"


def test_what_cannot_be_read_is_named():
    class Odd:
        pass

    def mixed(place: Place, odd: Odd) -> None: ...

    for wrong in (mixed, functools.partial(max), 3):
        with pytest.raises(BadParameter):
            Tools([wrong])
