"""Tools of real MCP servers, over stdio and HTTP: in every dialect, and when things go wrong."""

import asyncio
import gc
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.client.mcp_server import PNG, serving
from tests.shells import each_shell

import pondero
from pondero.canon import Image, Text, ToolResult
from pondero.client import Tools
from pondero.client.tools.tools import make_unique_names
from pondero.dialects import NAMES
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn
from pondero.errors import BadConfig, BadParameter, MissingExtra, Timeout, Unreachable
from pondero.extras import install_hint
from pondero.store import ToolServer, check_config, resolve_tool_server

PROGRAM = str(Path(__file__).parents[1] / "mcp_server.py")
STDIO = {"name": "numbers", "command": sys.executable, "args": [PROGRAM]}
MODELS = (
    "claude-opus-5/high",
    "gpt-5.1/high",
    "openrouter:openai/gpt-5.1",
    "gemini-3-flash-preview/high",
    "google-interactions:gemini-3-flash-preview/high",
    "bedrock:anthropic.claude-opus-4-5-20251101-v1:0/high",
    "cohere:command-a-reasoning-08-2025/high",
    "ollama:qwen3/high",
)


@pytest.fixture(scope="module")
def http():
    with serving() as address:
        yield address


@pytest.fixture(scope="module")
def tools():
    """A server over stdio that the tests share which do not hurt it."""
    opened = Tools(mcp=[STDIO])
    yield opened
    opened.close()


def steps():
    """Three steps with thinking, then the answer."""
    return [
        ScriptedTurn(thinking="first the sum", tool_calls=(ScriptedCall("add", {"a": 1, "b": 2}),)),
        ScriptedTurn(
            thinking="then the product",
            tool_calls=(ScriptedCall("multiply_two_numbers", {"a": 3, "b": 4}),),
        ),
        ScriptedTurn(thinking="and a failure", tool_calls=(ScriptedCall("fail", {"why": "so"}),)),
        ScriptedTurn(thinking="enough", text="done"),
    ]


def chat_with(calls, tools=(), **options):
    script = [ScriptedTurn(tool_calls=tuple(calls)), ScriptedTurn(text="done")]
    client = pondero.Client(transport=Emulator(script=script))
    return pondero.Chat("claude-opus-5/high", tools=tools, client=client, **options)


def results(chat):
    return [part for each in chat.messages for part in each.parts if isinstance(part, ToolResult)]


def said(result):
    return "".join(part.text for part in result.content if isinstance(part, Text))


def proofs(messages):
    """Return the texts in the seals of these messages, as a body in JSON has them."""
    seals = [
        part.signature.value
        for each in messages
        for part in each.parts
        if getattr(part, "signature", None)
    ]
    found = re.findall(r'"([A-Za-z0-9+/=_-]{24,})"', json.dumps(seals))
    assert found or not seals
    return found


def is_running(process):
    """Return whether a process still runs; one that ended and was not awaited does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("way", ["stdio", "http"])
@each_shell
def test_three_steps_while_thinking_on_every_dialect(shell, way, model, tools, http):
    emulator = Emulator(script=steps(), any_model=True)
    given = {"tools": tools} if way == "stdio" else {"mcp": [http]}
    chat = shell.chat(model, shell.client(emulator), **given)
    reply = shell.send(chat, "Go on.")
    assert reply.text == "done"
    assert [(said(each), each.error) for each in results(chat)] == [
        ("3", False),
        ('{\n  "product": 12\n}', False),
        ("Error executing tool fail", True),
    ]
    assert [entry.status for entry in emulator.log.entries] == [200] * 4
    thought = [each.thinking for each in chat.messages if each.role == "assistant"]
    assert all(thought)
    last = json.dumps(emulator.log.entries[-1].body)
    for proof in proofs(chat.messages[1:-1]):  # what was thought goes back in the loop, or its seal
        assert proof in last
    if way == "http":
        chat._tools.close()


def test_the_models_above_speak_every_dialect():
    assert {pondero.plan(model).dialect for model in MODELS} == {*NAMES}


def test_pictures_come_as_pictures(tools):
    chat = chat_with([ScriptedCall("picture")], tools)
    chat.send("Draw.")
    assert results(chat)[0].content == (Image("image/png", PNG),)


def test_a_server_gets_the_variables_its_config_names_and_no_keys(config_dir, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-000000000000")
    monkeypatch.setenv("THE_TOKEN", "planted-token-123456")
    (config_dir / "config.toml").write_text(
        f'[mcp.numbers]\ncommand = "{sys.executable}"\nargs = ["{PROGRAM}"]\n'
        'env = { TOKEN = "$THE_TOKEN" }\n'
    )
    with chat_with([ScriptedCall("environment")], mcp=["numbers"]) as chat:
        chat.send("Which?")
    given = [part.text for part in results(chat)[0].content]
    assert {"PATH", "TOKEN"} <= set(given)
    assert not {"OPENAI_API_KEY", "THE_TOKEN"} & set(given)
    monkeypatch.delenv("THE_TOKEN")
    with pytest.raises(BadConfig, match="THE_TOKEN, which is not set"):
        chat_with([], mcp=["numbers"]).list_tools()


@each_shell
def test_a_server_that_dies_is_an_error_result_and_a_note_and_starts_again(shell):
    script = [
        ScriptedTurn(tool_calls=(ScriptedCall("process"),)),
        ScriptedTurn(tool_calls=(ScriptedCall("die"),)),
        ScriptedTurn(tool_calls=(ScriptedCall("add", {"a": 1, "b": 2}),)),
        ScriptedTurn(text="so be it"),
        ScriptedTurn(tool_calls=(ScriptedCall("add", {"a": 1, "b": 2}),)),
        ScriptedTurn(text="done"),
    ]
    owned = Tools(mcp=[STDIO])
    try:
        chat = shell.chat("claude-opus-5/high", shell.client(Emulator(script=script)), tools=owned)
        reply = shell.send(chat, "Die.")
        first, died, after = results(chat)
        assert died.error
        assert "was lost" in said(died)
        assert after.error
        assert "tool_server_lost" in [note.code for note in reply.adjustments]
        shell.send(chat, "Again.")
        assert said(results(chat)[-1]) == "3"
        assert not is_running(int(said(first)))
    finally:
        owned.close()


def test_a_server_over_http_that_is_gone_is_an_error_result_and_a_note():
    with serving() as address:
        chat = chat_with([ScriptedCall("add", {"a": 1, "b": 2})], mcp=[address])
        chat.list_tools()
    with chat:
        opened, chat._tools.open = chat._tools.open, lambda: None  # gone between turn and call
        reply = chat.send("Add.")
        chat._tools.open = opened
    (result,) = results(chat)
    assert result.error
    assert "tool_server_lost" in [note.code for note in reply.adjustments]


def test_a_call_that_takes_too_long_is_an_error_result():
    slow = {**STDIO, "timeout": 5.0}
    with chat_with(
        [ScriptedCall("sleep", {"seconds": 60}), ScriptedCall("process")], mcp=[slow]
    ) as chat:
        chat.list_tools()
        for link in chat._tools._servers._links:
            link.spec = ToolServer(name="numbers", command="x", timeout=0.2)
        chat.send("Wait.")
    assert results(chat)[0].error
    assert "in time" in said(results(chat)[0])


@pytest.mark.parametrize("end", ["close", "error", "collected"])
def test_no_process_is_left_behind(end):
    chat = chat_with([ScriptedCall("process")], mcp=[STDIO])
    chat.send("Which?")
    process = int(said(results(chat)[0]))
    background = chat._tools._servers._background
    assert is_running(process)
    if end == "close":
        chat.close()
        chat.close()
    elif end == "error":
        with pytest.raises(RuntimeError, match="planted"), chat:
            raise RuntimeError("planted")
    else:
        del chat
        gc.collect()
        background._thread.join(30)
    assert not is_running(process)
    assert not background._thread.is_alive()


_SCRIPT = """
import os, signal, sys
import pondero
from pondero.emulator import ScriptedCall, Emulator, ScriptedTurn
signal.signal(signal.SIGINT, signal.default_int_handler)
seconds = float(sys.argv[2])
script = [ScriptedTurn(tool_calls=(ScriptedCall("process"),)), ScriptedTurn(tool_calls=(ScriptedCall("sleep", {"seconds": seconds}),)), ScriptedTurn(text="x")]
def approve(name, arguments):
    print(name, flush=True)
    return True
chat = pondero.Chat("claude-opus-5", mcp=[{"command": sys.executable, "args": [sys.argv[1]]}],
                    approve=approve, client=pondero.Client(transport=Emulator(script=script)))
with chat.stream("Go.", keep=True) as turn:
    try:
        for event in turn:
            pass
    finally:
        print(*[p.content[0].text for m in chat.messages for p in m.parts if hasattr(p, "content")][:1], flush=True)
"""


@pytest.mark.parametrize("interrupted", [True, False])
def test_no_process_is_left_behind_after_the_program_ended_or_ctrl_c(interrupted):
    import signal

    seconds = "60" if interrupted else "0"
    command = [sys.executable, "-c", _SCRIPT, PROGRAM, seconds]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, stderr=subprocess.PIPE
    ) as run:
        try:
            assert run.stdout.readline() == "process\n"
            assert run.stdout.readline() == "sleep\n"
            if interrupted:
                run.send_signal(signal.SIGINT)
            # Not communicate(): it misses what readline() has read ahead.
            out, err = run.stdout.read(), run.stderr.read()
            run.wait(60)
        finally:
            run.kill()
    assert (run.returncode != 0) is interrupted, err
    assert not is_running(int(out.strip()))


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({**STDIO, "args": [PROGRAM, "broken"]}, Unreachable, "no database here"),
        ("http://127.0.0.1:9/mcp", Unreachable, "did not start"),
        ({"command": "/nowhere/at/all"}, Unreachable, "did not start"),
        (
            {**STDIO, "args": ["-c", "import time; time.sleep(60)"], "timeout": 0.3},
            Timeout,
            "0.3 s",
        ),
    ],
)
@each_shell
def test_a_server_that_does_not_start_is_told_before_anything_is_sent(shell, given, kind, words):
    emulator = Emulator()
    chat = shell.chat("claude-opus-5", shell.client(emulator), mcp=[given])
    with pytest.raises(kind, match=words):
        shell.send(chat, "Go.")
    assert emulator.log.entries == ()
    assert chat.messages == ()
    chat._tools.close()


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(MissingExtra, match=re.escape(install_hint("mcp"))):
        chat_with([], mcp=[STDIO]).list_tools()


def test_ask_runs_them_and_stream_says_where_to_go():
    script = [
        ScriptedTurn(tool_calls=(ScriptedCall("add", {"a": 20, "b": 3}),)),
        ScriptedTurn(text="23"),
    ]
    with pondero.Client(transport=Emulator(script=script * 2)) as client:
        reply = client.ask("gpt-5.1/low", "Add.", mcp=[STDIO], max_steps=3)
        assert reply.text == "23"
        (note,) = reply.adjustments
        was, now = "multiply.two-numbers", "multiply_two_numbers"
        assert (note.code, note.asked, note.got) == ("tool_renamed", was, now)
        with pytest.raises(BadParameter, match="need ask, or a Chat"):
            client.stream("gpt-5.1/low", "Add.", mcp=[STDIO])
    awaits = pondero.AsyncClient(transport=Emulator(script=script))
    assert asyncio.run(awaits.ask("gpt-5.1/low", "Add.", mcp=[STDIO])).text == "23"


def test_threads_share_one_connection(tools):
    tools.open()
    gathered = []

    def work():
        tools.open()
        gathered.append(tools.run_all([pondero.client.tools.tools.ToolCall("1", "process", {})]))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({said(each) for (each,) in gathered}) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_starts_its_own_and_leaves_the_parents_alone():
    code = f"""
import os, sys
sys.path.insert(0, {str(Path(PROGRAM).parents[2])!r})
from pondero.canon import ToolCall
from pondero.client import Tools
tools = Tools(mcp=[{STDIO!r}])
tools.open()
ask = lambda: tools.run(ToolCall("1", "process", {{}})).content[0].text
parent = ask()
child = os.fork()
if not child:
    tools.open()
    mine = ask()
    tools.close()
    os._exit(0 if mine != parent else 1)
assert os.waitpid(child, 0)[1] == 0
assert ask() == parent
tools.close()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


# -- names -------------------------------------------------------------------------------------------


_offers = st.lists(st.tuples(st.sampled_from(["a", "b.c", "x" * 70]), st.text(max_size=80)))


@given(_offers, st.sets(st.sampled_from(["add", "a_add", "_"])))
def test_names_are_taken_by_every_service_and_no_two_are_the_same(offers, taken):
    names = make_unique_names(offers, taken)
    assert len({*names, *taken}) == len(names) + len(taken)
    assert all(pondero.client.tools.tools._NAME.fullmatch(name) for name in names)
    assert names == make_unique_names(offers, taken)


def test_a_name_changes_only_where_it_must():
    offers = [("a", "add"), ("b", "add"), ("b", "read-file"), ("a", "add"), ("c", "n" * 70)]
    names = make_unique_names(offers, ["get_weather"])
    assert names[:4] == ["add", "b_add", "read_file", "a_add"]
    assert names[4].startswith("c_nnn")
    assert make_unique_names([("b", "get_weather")], ["get_weather"]) == ["b_get_weather"]


# -- which servers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("https://docs.example.test/mcp", "docs.example.test"),
        (f"{sys.executable} {PROGRAM}", "mcp_server"),
        ({"command": "npx", "args": ["-y", "@scope/server-files"]}, "server-files"),
        ({"name": "mine", "url": "http://localhost:1/"}, "mine"),
        ("http://user:word@localhost:8001/mcp", "localhost:8001"),
        ("http://[::1]:8001/mcp", "[::1]:8001"),
    ],
)
def test_a_server_has_a_name(given, name):
    assert resolve_tool_server(given).name == name


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("no-such-program-anywhere --x", "'no-such-program-anywhere' is not installed"),
        ("no-such-program-anywhere", "or a server in config.toml"),
        ("python 'unended", "invalid command line"),
        ("  ", "a command line or a URL"),
        ({"command": "a", "url": "http://b"}, "not both"),
        ({}, "not both"),
        ({"url": "ftp://b"}, "http://"),
        ({"command": "a", "timeout": 0}, "seconds above 0"),
        ({"command": "a", "colour": "red"}, "colour"),
    ],
)
def test_what_is_no_server_is_said(given, words):
    with pytest.raises(BadParameter, match=words):
        resolve_tool_server(given)


def test_mcp_is_a_list():
    with pytest.raises(BadParameter, match="is a list"):
        Tools(mcp="files")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('mcp = "x"', "is not a table"),
        ("[mcp]\nfiles = 3", "mcp.files is not a table"),
        ("[mcp.files]\nargs = []", r"\[mcp.files\]: .*a command, or a url"),
        ('[mcp.files]\nurl = "https://x"\nheaders = { A = "KEY" }', "holds a key"),
    ],
)
def test_a_wrong_server_in_the_config_is_named(config_dir, monkeypatch, text, words):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-000000000000")
    (config_dir / "config.toml").write_text(text.replace("KEY", "sk-planted-000000000000"))
    with pytest.raises(BadConfig, match=words):
        check_config()


def test_values_of_variables_and_headers_are_not_shown():
    shown = repr(
        resolve_tool_server({"url": "https://x.test", "headers": {"authorization": "Bearer abc"}})
    )
    assert "abc" not in shown


# -- servers that mean no good ---------------------------------------------------------------------

HOSTILE = str(Path(__file__).parents[1] / "hostile_server.py")


def hostile(how, *calls):
    given = {"name": "evil", "command": sys.executable, "args": [HOSTILE, how]}
    return chat_with(calls or [ScriptedCall("look", {})], mcp=[given])


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("no_base64", "Error: "),
        ("nothing", "ValueError: the tool returned an empty picture or file"),
        ("no_content", "ValidationError: "),
    ],
)
def test_a_result_that_cannot_be_is_an_error_in_a_line(how, words):
    with hostile(how) as chat:
        chat.send("Go on.")
        [result] = results(chat)
    assert result.error
    assert words in said(result)
    assert "\n" not in said(result)


@pytest.mark.parametrize(
    ("call", "once"),
    [
        (ScriptedCall("spell", {"number": 42}), "42"),
        (ScriptedCall("lines", {"document": '{"a": 1}\ntrue\nwords'}), '{"a": 1}truewords'),
        (ScriptedCall("add", {"a": 17, "b": 23}), "40"),
        (ScriptedCall("multiply_two_numbers", {"a": 3, "b": 4}), '{\n  "product": 12\n}'),
    ],
)
def test_a_result_in_text_and_as_structured_content_reaches_the_model_once(call, once, tools):
    chat = chat_with([call], tools)
    chat.send("Go on.")
    assert [said(each) for each in results(chat)] == [once]


def test_a_list_of_tools_without_an_end_has_each_tool_once():
    with hostile("endless") as chat:
        assert [each.tool.name for each in chat.list_tools()] == ["look"]
        assert chat.send("Go on.").adjustments == ()


def test_a_list_of_megabytes_is_read():
    with hostile("large", ScriptedCall("t1999", {})) as chat:
        assert len(chat.list_tools()) == 2000


def test_a_server_that_is_wrong_says_so_in_a_line():
    with pytest.raises(
        Unreachable, match=r"'evil' did not start: ValidationError: .*array"
    ) as wrong:
        hostile("wrong").send("Go on.")
    assert "\n" not in str(wrong.value)


def test_rubbish_on_stdout_is_passed_over_and_nothing_of_it_is_shown():
    # The server's half of mcp sets up logging, so that nothing of it may be imported here.
    program = (
        "import sys, pondero; from pondero.emulator import ScriptedCall, Emulator, ScriptedTurn\n"
        "script = [ScriptedTurn(tool_calls=(ScriptedCall('look', {}),)), ScriptedTurn(text='done')]\n"
        "server = {'command': sys.executable, 'args': sys.argv[1:]}\n"
        "client = pondero.Client(transport=Emulator(script=script))\n"
        "with pondero.Chat('claude-opus-5/high', mcp=[server], client=client) as chat:\n"
        "    print(chat.send('Go on.').text)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, HOSTILE, "rubbish"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert (ran.stdout, ran.stderr) == ("done\n", "")
