"""The recipes of the documentation, run as printed, with nothing leaving the machine."""

import importlib
import json
import re
from contextlib import suppress
from pathlib import Path

import pytest

_TEXT = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text("utf-8")
_RECIPES = [
    pytest.param(block, id=f"{title}-{number}")
    for title, section in re.findall(
        r"^## (\S+)\n(.*?)(?=^## |\Z)", _TEXT, re.DOTALL | re.MULTILINE
    )
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", section, re.DOTALL))
]
_THINKING = ("thinking", "reasoning", "reasoning_effort", "generationConfig")


@pytest.fixture
def bodies(monkeypatch):
    """Every JSON body that any HTTP client tries to send; each is refused."""
    found = []

    def refuse(module, content):
        if content:
            found.append(json.loads(content))
        return module.Response(400, json={"error": {"message": "no", "code": 400}})

    for name in ("httpx", "httpx2"):
        with suppress(ImportError):
            module = importlib.import_module(name)

            def take(_, request, module=module):
                return refuse(module, request.content)

            async def take_later(_, request, module=module):
                return refuse(module, await request.aread())

            monkeypatch.setattr(module.HTTPTransport, "handle_request", take)
            monkeypatch.setattr(module.AsyncHTTPTransport, "handle_async_request", take_later)
    for key in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GROQ_API_KEY"):
        monkeypatch.setenv(key, "a key that is not one")
    return found


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("recipe", _RECIPES)
def test_a_recipe_brings_the_wish_to_the_wire(recipe, bodies):
    for package in re.findall(r"^(?:from|import) (\w+)", recipe, re.MULTILINE):
        pytest.importorskip(package)
    with suppress(Exception):  # each service's own refusal
        exec(compile(recipe, "recipes.md", "exec"), {})
    assert any(any(key in body for key in _THINKING) for body in bodies)


_CITY = """
from pydantic import BaseModel
from pydantic_ai import NativeOutput


class City(BaseModel):
    name: str


agent = Agent("anthropic:claude-opus-5", output_type=NativeOutput(City))
"""
_STRUCTURED_CALL = """).with_structured_output(
    {
        "title": "City",
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    },
    method="json_schema",
).invoke("Which city is the largest?")
"""
_STRUCTURED = {
    "pydantic-ai-0": ('agent = Agent("anthropic:claude-opus-5")', _CITY),
    "langchain-1": (').invoke("What is 17 * 23?")', _STRUCTURED_CALL),
}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", _STRUCTURED)
def test_a_recipe_leaves_room_for_the_schema_of_the_answer(name, bodies):
    (recipe,) = (each.values[0] for each in _RECIPES if each.id == name)
    for package in re.findall(r"^(?:from|import) (\w+)", recipe, re.MULTILINE):
        pytest.importorskip(package)
    plain, structured = _STRUCTURED[name]
    assert plain in recipe
    with suppress(Exception):  # the refusal above
        exec(compile(recipe.replace(plain, structured), "recipes.md", "exec"), {})
    assert bodies[0]["output_config"]["effort"] == "high"
    assert bodies[0]["output_config"]["format"]["type"] == "json_schema"


@pytest.mark.filterwarnings("default")
def test_langchain_knows_that_the_model_thinks_and_forces_no_tool(bodies):
    """Claude rejects a forced tool with a budget, and answers without thinking elsewhere."""
    pytest.importorskip("langchain_anthropic")
    (recipe,) = (each.values[0] for each in _RECIPES if each.id == "langchain-1")
    plain, structured = _STRUCTURED["langchain-1"]
    called = structured.replace("json_schema", "function_calling")
    with suppress(Exception):  # the refusal above
        exec(compile(recipe.replace(plain, called), "recipes.md", "exec"), {})
    assert bodies[0]["tools"][0]["name"] == "City"
    assert "tool_choice" not in bodies[0]
