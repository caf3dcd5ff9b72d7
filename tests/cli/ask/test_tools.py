"""``pondero ask`` with tools: functions and MCP servers, and who allows what they do."""

import json
import os
import sys
from pathlib import Path

import pytest
from tests.tui.terminal import running

from pondero.cli.ask.tools import function_of
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn, run_emulator_in_thread

WEATHER = '''
def get_weather(city: str) -> str:
    """Return the weather in a city."""
    return f"{city}: sunny, 21 degrees"


def broken(city: str) -> str:
    """Fail."""
    raise ValueError(city)


NUMBER = 1
'''
QUESTION = "What is the weather in Paris?"
SERVER = f"{sys.executable} {Path(__file__).parents[2] / 'client' / 'mcp_server.py'}"


@pytest.fixture
def tool(tmp_path):
    (tmp_path / "weather.py").write_text(WEATHER)
    return f"{tmp_path / 'weather.py'}:get_weather"


@pytest.fixture
def ask(call, data_dir):
    return lambda *arguments, **how: call("ask", "--offline", *arguments, **how)


def test_a_tool_that_was_approved_runs_and_its_result_is_answered_with(ask, tool):
    for approved in ("all", "get_weather"):
        given = ("--tool", tool, "--approve", approved)
        code, out, err = ask("claude-opus-5/high", *given, QUESTION)
        assert (code, err) == (0, "")
        assert "sunny, 21 degrees" in out


def test_where_nobody_can_be_asked_nothing_runs_and_both_sides_are_told(ask, call, tool):
    code, out, err = ask("claude-opus-5/high", "--tool", tool, QUESTION)
    assert code == 0
    assert "sunny" not in out
    assert err == (
        "not run, no terminal to ask on: get_weather; add --approve get_weather, or --approve all\n"
    )
    assert "the user did not allow this call" in call("threads", "show")[1]
    assert "--approve get_weather" in ask("gpt-5.1", "--tool", tool, "--approve", "other", QUESTION)[2]  # fmt: skip


def test_json_has_the_calls_and_json_lines_what_came_of_them(ask, tool):
    given = ("--tool", tool, "--approve", "all", "gpt-5.1/low", QUESTION)
    answer = json.loads(ask("--json", *given)[1])
    assert answer["tool_calls"] == [{"name": "get_weather", "arguments": {"city": "Paris"}}]
    assert answer["exchanges"] == 2
    events = [json.loads(line) for line in ask("--json-lines", *given)[1].splitlines()]
    (result,) = [event for event in events if event["type"] == "tool_result"]
    assert (result["name"], result["error"]) == ("get_weather", False)
    assert result["text"] == "Paris: sunny, 21 degrees"
    kinds = [event["type"] for event in events]
    assert kinds.count("finished") == 2
    assert kinds.index("finished") < kinds.index("tool_result")


def test_a_turn_may_take_only_so_many_steps(ask, tool):
    given = ("--tool", tool, "--approve", "all", "--json", "gpt-5.1/low", QUESTION)
    assert json.loads(ask("--max-steps", "1", *given)[1])["exchanges"] == 1
    assert ask("--max-steps", "0", *given)[0] == 2


def test_several_models_have_tools_too_but_nobody_is_asked_about_them(ask, tool):
    both = ("-m", "claude-opus-5/low", "-m", "gpt-5.1/low", "--tool", tool, QUESTION)
    code, out, _ = ask(*both, "--approve", "all")
    assert (code, out.count("sunny, 21 degrees")) == (0, 2)
    code, out, err = ask(*both)
    assert (code, "sunny" in out, "not run" in err) == (0, False, True)


def test_a_module_is_imported_from_where_one_stands(ask, tool, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    given = ("--tool", "weather:get_weather", "--approve", "all")
    assert "sunny" in ask("gpt-5.1/low", *given, QUESTION)[1]
    sys.modules.pop("weather", None)


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("weather", "names no function; write module:function or file.py:function"),
        ("no_such_module_anywhere:f", "cannot be imported: ModuleNotFoundError"),
        ("none.py:f", "there is no file 'none.py'"),
        ("{file}:forecast", "has no function 'forecast'; there are: get_weather broken"),
        ("{file}:NUMBER", "has no function 'NUMBER'"),
    ],
)
def test_a_tool_that_is_not_there_is_a_usage_error(ask, tool, named, said):
    named = named.replace("{file}", tool.rpartition(":")[0])
    code, out, err = ask("gpt-5.1", "--tool", named, QUESTION)
    assert (code, out) == (2, "")
    assert said in " ".join(err.split())


def test_a_function_is_found_with_its_own_name(tool):
    assert function_of(tool)("Bern") == "Bern: sunny, 21 degrees"


# -- MCP -------------------------------------------------------------------------------------------


@pytest.fixture
def service(monkeypatch):
    """An emulator over HTTP that does as it is told."""
    pytest.importorskip("mcp")
    with run_emulator_in_thread(emulator := Emulator()) as url:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
        yield emulator


def test_the_tools_of_a_server_are_used_by_name_and_by_command(call, service, config_dir):
    (config_dir / "config.toml").write_text(
        f"[mcp.numbers]\ncommand = {json.dumps(sys.executable)}\n"
        f"args = [{json.dumps(SERVER.split()[1])}]\n"
    )
    for server in ("numbers", SERVER):
        service.expect(
            ScriptedTurn(thinking="a sum", tool_calls=(ScriptedCall("add", {"a": 40, "b": 2}),)),
            ScriptedTurn(
                thinking="one that fails", tool_calls=(ScriptedCall("fail", {"why": "so"}),)
            ),
            ScriptedTurn(text="done"),
        )
        given = ("--mcp", server, "--approve", "add", "--approve", "fail", "--json-lines")
        code, out, err = call("ask", "--no-save", "claude-opus-5/high", *given, "Go!")
        assert (code, err) == (0, "")
        events = [json.loads(line) for line in out.splitlines()]
        results = [(e["text"], e["error"]) for e in events if e["type"] == "tool_result"]
        assert results[0] == ("42", False)
        assert results[1][1] is True


def test_a_server_that_is_none_says_so(call, service):
    code, out, err = call("ask", "--no-save", "claude-opus-5", "--mcp", "no-such-thing", "Go!")
    assert (code, out) == (2, "")
    assert (
        "unknown MCP server 'no-such-thing': not a command, a URL, or a server in config.toml; "
        "describe it there as [mcp.no-such-thing], with a command or a url" in err
    )


def test_a_server_whose_program_is_missing_says_which(call, service):
    line = "no-such-runner mcp-server-time"
    code, out, err = call("ask", "--no-save", "claude-opus-5", "--mcp", line, "Go!")
    assert (code, out) == (2, "")
    assert f"cannot start the MCP server {line!r}: 'no-such-runner' is not installed" in err


# -- a user who is asked ---------------------------------------------------------------------------


@pytest.fixture
def environment(tmp_path, service):
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PONDERO_CONFIG_DIR": str(tmp_path / "config"),
        "PONDERO_DATA_DIR": str(tmp_path / "data"),
        "ANTHROPIC_BASE_URL": os.environ["ANTHROPIC_BASE_URL"],
        "ANTHROPIC_API_KEY": "any",
    }


def called(city):
    return ScriptedTurn(
        thinking="I look.", tool_calls=(ScriptedCall("get_weather", {"city": city}),)
    )


def results_of(entry):
    """What the model was told of its calls."""
    blocks = [block for message in entry.body["messages"] for block in message["content"]]
    return [json.dumps(block) for block in blocks if block["type"] == "tool_result"]


def test_on_a_terminal_the_user_sees_name_and_arguments_and_decides(environment, service, tool):
    service.expect(
        *map(called, ("Paris", "Bern\x1b[2J", "Rome", "Oslo")), ScriptedTurn(text="**Enough.**")
    )
    with running("ask", "claude-opus-5/high", "--tool", tool, "Go!", environment=environment) as terminal:  # fmt: skip
        terminal.until("get_weather wants to run:", '"city": "Paris"', "[a]lways:")
        terminal.press("\rperhaps\rn\r")  # only a word decides
        terminal.until('"city": "Bern\\u001b[2J"')
        terminal.press("y\r")
        terminal.until('"city": "Rome"')
        terminal.press("a\r")
        terminal.until("Enough.")
        assert terminal.ended() == 0
        assert b"\x1b[2J" not in terminal.seen
        assert "**" not in terminal.text
        assert terminal.text.count("wants to run") <= 3
        assert 'get_weather({"city":"Oslo"}) → Oslo: sunny, 21 degrees' in terminal.text
    paris, bern, rome, oslo = results_of(service.log.entries[-1])
    assert "did not allow" in paris
    assert all("sunny" in each for each in (bern, rome, oslo))


def test_the_end_of_input_is_a_no_and_an_interrupt_ends_it(environment, service, tool):
    service.expect(called("Paris"), ScriptedTurn(text="Well."), called("Paris"))
    given = ("ask", "claude-opus-5/high", "--tool", tool, "Go!")
    with running(*given, environment=environment) as terminal:
        terminal.until("[a]lways:")
        terminal.press("\x04")
        terminal.until("Well.")
        assert terminal.ended() == 0
    assert "did not allow" in results_of(service.log.entries[-1])[0]
    with running(*given, environment=environment) as terminal:
        terminal.until("[a]lways:")
        terminal.press("\x03")
        assert terminal.ended() == 130


NOISY = """
import asyncio


def lookup(name: str = "x") -> str:
    \"\"\"Look it up.\"\"\"
    print("noise")
    return "found"


async def search(name: str = "x") -> str:
    \"\"\"Search for it.\"\"\"
    await asyncio.sleep(0)
    print("noise")
    return "found"
"""


@pytest.mark.parametrize("name", ["lookup", "search"])
@pytest.mark.parametrize("levels", [(), ("--levels", "low,high")])
def test_what_a_tool_prints_goes_to_stderr(ask, tmp_path, name, levels):
    (tmp_path / "noisy.py").write_text(NOISY, "utf-8")
    named = ("--tool", f"{tmp_path / 'noisy.py'}:{name}", "--approve", "all", "--json", *levels)
    code, out, err = ask("claude-opus-5", *named, f"Call {name}.")
    assert code == 0
    assert "noise" not in out
    assert "noise" in err
    assert "found" in json.dumps(json.loads(out))
