"""Plain functions as tools."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from inline_snapshot import snapshot

from pondero.canon import Image, Text, Tool, ToolCall
from pondero.client.tools.tools import Tools
from pondero.errors import BadParameter


@dataclass
class Place:
    city: str
    country: str | None = None


def get_weather(
    place: Place, days: int = 1, *, unit: Literal["C", "F"] = "C", note: Annotated[str, "Why."] = ""
) -> dict[str, object]:
    """Get the weather at a place.

    It is always fine.

    Args:
        place: Where to look,
            as exactly as you can.
        days (int): How many days.

    Returns:
        What it is like.
    """
    return {"city": place.city, "days": days, "unit": unit}


async def wait_for(name: str) -> str:
    """Wait for somebody."""
    await asyncio.sleep(0)
    return f"{name} is here"


def boom() -> None:
    raise ValueError("out of cheese")


def call(name, /, **arguments):
    return ToolCall("call_1", name, arguments)


def said(result):
    return "".join(part.text for part in result.content)


def test_hints_and_docstring_become_the_schema():
    (tool,) = Tools([get_weather]).tools
    assert tool == snapshot(
        Tool(
            name="get_weather",
            description="""\
Get the weather at a place.

It is always fine.\
""",
            parameters={
                "type": "object",
                "properties": {
                    "place": {
                        "description": "Where to look, as exactly as you can.",
                        "$ref": "#/$defs/Place",
                    },
                    "days": {"type": "integer", "description": "How many days.", "default": 1},
                    "unit": {"enum": ["C", "F"], "default": "C", "type": "string"},
                    "note": {"type": "string", "description": "Why.", "default": ""},
                },
                "required": ["place"],
                "additionalProperties": False,
                "$defs": {
                    "Place": {
                        "title": "Place",
                        "type": "object",
                        "properties": {
                            "city": {"type": "string"},
                            "country": {
                                "anyOf": [{"type": "string"}, {"type": "null"}],
                                "default": None,
                            },
                        },
                        "required": ["city"],
                        "additionalProperties": False,
                    }
                },
            },
        )
    )


def test_arguments_arrive_as_the_types_that_were_hinted():
    result = Tools([get_weather]).run(call("get_weather", place={"city": "Bern"}, days="2"))
    assert said(result) == '{"city":"Bern","days":2,"unit":"C"}'
    assert not result.error
    assert (result.call_id, result.name) == ("call_1", "get_weather")


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (call("boom"), "ValueError: out of cheese"),
        (call("get_weather"), "place"),
        (call("get_weather", place={"city": "Bern"}, colour="red"), "colour"),
        (call("nonsense"), "there is no tool 'nonsense'; there are: get_weather boom"),
        (ToolCall("call_1", "boom", '{"cut'), "not a JSON object"),
    ],
)
def test_whatever_goes_wrong_the_model_is_told(made, words):
    box = Tools([get_weather, boom])
    for result in (box.run(made), asyncio.run(box.arun(made))):
        assert result.error
        assert words in said(result)


def test_async_tools_run_either_way_and_so_do_others():
    box = Tools([wait_for, get_weather])
    waiting = call("wait_for", name="Ada")
    assert said(box.run(waiting)) == said(asyncio.run(box.arun(waiting))) == "Ada is here"
    looking = call("get_weather", place={"city": "Bern"})
    assert box.run(looking) == asyncio.run(box.arun(looking))


def test_an_async_tool_runs_for_who_waits_within_a_running_loop():
    async def notebook():
        return Tools([wait_for]).run(call("wait_for", name="Ada"))

    assert said(asyncio.run(notebook())) == "Ada is here"


@pytest.mark.parametrize(
    ("made", "content"),
    [
        ("words", (Text("words"),)),
        (None, (Text("null"),)),
        ([1, 2], (Text("[1,2]"),)),
        (Image("image/png", b"1"), (Image("image/png", b"1"),)),
        ([Text("a"), Image("image/png", b"1")], (Text("a"), Image("image/png", b"1"))),
        ([], (Text("[]"),)),
    ],
)
def test_what_a_tool_returns_becomes_content(made, content):
    def tool() -> object:
        return made

    assert Tools([tool]).run(call("tool")).content == content


def test_what_cannot_be_written_is_an_error_result_too():
    class Mute:
        def __str__(self) -> str:
            raise ValueError("no words")

    def tool() -> object:
        return Mute()

    assert Tools([tool]).run(call("tool")).error


def test_a_given_tool_is_offered_and_left_to_the_caller():
    box = Tools([Tool("search"), {"type": "web_search_20250305", "name": "web"}, get_weather])
    assert [tool.name for tool in box.tools] == ["search", "web", "get_weather"]
    assert not box.runs(call("search"))
    assert box.runs(call("get_weather"))
    assert box.runs(call("nonsense"))


def test_what_no_service_would_take_for_a_tool_is_refused():
    def many(*places: str) -> None: ...

    with pytest.raises(BadParameter, match="names"):
        Tools([many])
    with pytest.raises(BadParameter, match="'<lambda>'"):
        Tools([lambda: "no service takes this name"])
    with pytest.raises(BadParameter, match="two tools"):
        Tools([boom, boom])
    with pytest.raises(BadParameter, match="use a function, a Tool"):
        Tools([3])


class Unspeakable:
    """Raises where it is to be said in words."""

    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


class UnspeakableError(Exception):
    """An error that cannot say why."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def cycle() -> list[object]:
    """Return a list that has itself inside."""
    made: list[object] = []
    made.append(made)
    return made


def unspeakable() -> Unspeakable:
    """Return what cannot be said."""
    return Unspeakable()


def unspeakable_error() -> str:
    """Fail without a word."""
    raise UnspeakableError


@pytest.mark.parametrize("tool", [cycle, unspeakable, unspeakable_error])
def test_a_result_that_cannot_be_said_goes_back_as_an_error(tool):
    tools, call = Tools([tool]), ToolCall("1", tool.__name__, {})
    for result in (tools.run(call), asyncio.run(tools.arun(call))):
        assert result.error
        assert "Error" in result.content[0].text


@pytest.mark.parametrize("given", [get_weather, Tool("look"), {"type": "web_search"}, "look", 7])
def test_one_tool_without_a_list_is_an_error_of_ours(given):
    with pytest.raises(BadParameter, match="tools is a list"):
        Tools(given)


# -- approval ----------------------------------------------------------------------------------------


def both_ways(tools, calls):
    """Run calls waiting and awaiting; both must end alike."""
    waited, awaited = tools().run_all(calls), asyncio.run(tools().arun_all(calls))
    assert waited == awaited
    return waited


@pytest.mark.parametrize(
    ("answer", "runs"),
    [(True, True), ("always", True), (False, False), (None, False), ("no", False)],
)
@pytest.mark.parametrize("awaits", [False, True])
def test_nothing_runs_that_was_not_approved(answer, runs, awaits):
    asked, ran = [], []

    def approve(name, arguments):
        asked.append((name, arguments))
        return answer

    async def aapprove(name, arguments):
        return approve(name, arguments)

    def count(n: int) -> int:
        ran.append(n)
        return n

    calls = [ToolCall("1", "count", {"n": 1}), ToolCall("2", "count", {"n": 2})]
    found = both_ways(lambda: Tools([count], approve=aapprove if awaits else approve), calls)
    assert [result.error for result in found] == [not runs] * 2
    assert bool(ran) is runs
    once = [("count", {"n": 1})]
    assert asked == (once if answer == "always" else [*once, ("count", {"n": 2})]) * 2
    if not runs:
        assert "did not allow" in said(found[0])


def test_nobody_is_asked_about_a_tool_that_is_not_there_or_cannot_be_called():
    def approve(name, arguments):
        raise AssertionError((name, arguments))

    calls = [ToolCall("1", "nothing", {}), ToolCall("2", "boom", "no JSON")]
    found = both_ways(lambda: Tools([boom], approve=approve), calls)
    assert all(result.error for result in found)


def test_what_approval_raises_ends_the_turn():
    def approve(name, arguments):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Tools([boom], approve=approve).run_all([ToolCall("1", "boom", {})])


def test_the_list_says_where_each_tool_is_from_and_what_was_approved_for_good():
    tools = Tools([get_weather, boom, Tool("search")], approve=lambda *_: "always")
    tools.run_all([ToolCall("1", "boom", {})])
    assert [
        (each.tool.name, each.server, each.runs, each.always) for each in tools.list_tools()
    ] == [
        ("get_weather", None, True, False),
        ("boom", None, True, True),
        ("search", None, False, False),
    ]
