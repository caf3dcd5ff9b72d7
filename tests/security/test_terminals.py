"""Promise: nothing that a model, a service, a file or a name says steers the terminal."""

import ast
import base64
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest
from tests.tui.terminal import running

from pondero.canon import Message, Origin, Text, Thinking, ToolCall, Usage, escape_controls
from pondero.store import StoredMessage, Threads

SOURCE = Path(__file__).parents[2] / "src" / "pondero"
PAYLOADS = (
    "\x1b]0;owned\x07",  # the window's title
    f"\x1b]52;c;{base64.b64encode(b'owned').decode()}\x07",  # the clipboard
    "\x1b[2J",
    "\x1b[8m",  # what follows is not seen
    "\x9b2J",
    "\x1bc",
    "\x07",
    "good\rbad",
    "\u202e",
)
NAME = "ev\x1b]0;owned\x07il"
HOSTILE = "\n\n".join(f"say {payload} on" for payload in PAYLOADS)
# Ours, that of repr(), and that of a contract's report, which is XML too:
SPELLED = re.compile(r"(\\(u00|x)1b|\?)\]0;", re.IGNORECASE)
OURS = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[2K|\x1b\[1A|\r+(?=\n|\x1b\[)")


class Hostile(BaseHTTPRequestHandler):
    """A service whose every word is a trap: its answers, its thinking and its errors."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if b"fail" in body:
            error = {"type": "invalid_request_error", "message": HOSTILE}
            self._send(400, "application/json", _json({"type": "error", "error": error}))
        elif b'"stream":true' in body:
            self._send(200, "text/event-stream", b"".join(_stream()))
        else:
            self._send(200, "application/json", _json(ANSWER))

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


USAGE = {"input_tokens": 9, "output_tokens": 9}
HEAD: dict[str, object] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": NAME,
    "usage": USAGE,
}
ANSWER = HEAD | {
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "content": [
        {"type": "thinking", "thinking": HOSTILE, "signature": "c2lnbg=="},
        {"type": "text", "text": HOSTILE},
        {"type": "tool_use", "id": "t1", "name": NAME, "input": {"to": HOSTILE}},
    ],
}


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _stream() -> Iterator[bytes]:
    start: dict[str, object] = HEAD | {"content": [], "stop_reason": None, "stop_sequence": None}
    events: list[dict[str, object]] = [{"type": "message_start", "message": start}]
    for index, (kind, slot) in enumerate((("thinking", "thinking"), ("text", "text"))):
        block = {"type": kind, slot: ""} | ({"signature": ""} if kind == "thinking" else {})
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        for at in range(0, len(HOSTILE), 7):  # escape sequences come in two pieces
            delta = {"type": f"{kind}_delta", slot: HOSTILE[at : at + 7]}
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    events += [{"type": "message_delta", "delta": stop, "usage": USAGE}, {"type": "message_stop"}]
    for event in events:
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    """The address of a hostile service."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def environment(tmp_path: Path, service: str) -> dict[str, str]:
    """A machine whose threads and settings hold control characters too."""
    config = tmp_path / "config"
    config.mkdir()
    with Threads.open(tmp_path / "data" / "threads.db") as threads:
        id = threads.start(model=f"anthropic:{NAME}", title=f"title {NAME}").id
        past = Message("user", (Text(HOSTILE),))
        origin = Origin("anthropic", NAME)
        parts = (Thinking(HOSTILE), Text(HOSTILE), ToolCall("1", NAME, {"to": HOSTILE}))
        said = StoredMessage(
            Message("assistant", parts, origin=origin), usage=Usage(input=1, output=2)
        )
        threads.add(id, [StoredMessage(past), said])
    (config / "config.toml").write_text(f"thinking = {json.dumps('low')}\n")
    (config / "templates").mkdir()
    hostile = json.dumps(HOSTILE)  # a string of TOML too
    (config / "templates" / "odd.toml").write_text(f"prompt = {hostile}\n")
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PONDERO_CONFIG_DIR": str(config),
        "PONDERO_DATA_DIR": str(tmp_path / "data"),
        "ANTHROPIC_BASE_URL": service,
        "ANTHROPIC_API_KEY": "any",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }


_PROGRAM = """
import json, sys
from pondero.cli.app import run
for arguments in json.loads(sys.argv[1]):
    code = run(arguments)
    print(f"<{code}>", flush=True)
"""


def on_a_terminal(calls: list[list[str]], environment: dict[str, str]) -> list[str]:
    """Return what each call of the program writes where somebody looks."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", _PROGRAM, json.dumps(calls)]
    child = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, text=False
    )
    os.close(theirs)
    seen = b""
    try:
        while piece := os.read(ours, 65536):
            seen += piece
    except OSError:  # how a terminal ends
        pass
    os.close(ours)
    assert child.wait() == 0
    outputs = re.split(r"<\d+>\r\n", seen.decode())
    assert len(outputs) == len(calls) + 1, seen.decode()
    return outputs[:-1]


class Calls:
    """Every command that shows words of somebody else, by what it shows."""

    def __init__(self, folder: Path) -> None:
        for name, text in self._files.items():
            (folder / name).write_bytes(_json(text))
        self._folder = folder

    _files: ClassVar[dict[str, object]] = {
        "answer.json": ANSWER,
        "error.json": {"type": "error", "error": {"type": "api_error", "message": HOSTILE}},
        f"chat-{NAME}.json": [],
        "models.json": {
            "anthropic": {"env": ["ANTHROPIC_API_KEY"], "models": {NAME: {"id": NAME}}}
        },
    }

    def all(self) -> dict[str, list[str]]:
        """Return the calls."""
        answer, error = str(self._folder / "answer.json"), str(self._folder / "error.json")
        odd, models = str(self._folder / f"chat-{NAME}.json"), str(self._folder / "models.json")
        ask = ["ask", "--no-save", "--thinking"]
        return {
            "ask": [*ask, "claude-opus-5/high", "hello"],
            "ask, an error": [*ask, "claude-opus-5/high", "fail"],
            "ask, plain": [*ask, "--plain", "claude-opus-5/high", "hello"],
            "ask, as JSON": ["ask", "--no-save", "--json", "claude-opus-5/high", "hello"],
            "ask, the events": ["ask", "--no-save", "--json-lines", "claude-opus-5/high", "hello"],
            "ask, the wire": [*ask, "--wire", "claude-opus-5/high", "hello"],
            "ask, at two levels": [*ask, "claude-opus-5", "--levels", "low,high", "hello"],
            "ask, at two levels, plain": [
                *(*ask, "claude-opus-5", "--levels", "low,high", "--plain", "hello"),
            ],
            "ask, an error of two": [*ask, "claude-opus-5", "--levels", "low,high", "fail"],
            "ask, no JSON": [*ask, "claude-opus-5", "--schema", "a int", "hello"],
            "ask, a bad field": [*ask, "claude-opus-5", "--schema", f"a {NAME}", "hello"],
            "ask, a bad setting": [*ask, "claude-opus-5", "-o", NAME, "1", "hello"],
            "ask, no such file": [*ask, "claude-opus-5", "-a", NAME, "hello"],
            "ask, no such tool": [*ask, "claude-opus-5", "--tool", f"{NAME}:f", "hello"],
            "ask, no such template": [*ask, "--template", NAME, "hello"],
            "templates show": ["templates", "show", NAME],
            "templates list": ["templates", "list"],
            "ask, an unknown model": [*ask, NAME, "hello"],
            "plan": ["plan", f"openai:{NAME}"],
            "plan, a level": ["plan", f"claude-opus-5/{NAME}"],
            "plan, as JSON": ["plan", f"openai:{NAME}", "--json"],
            "levels": ["levels", f"openai:{NAME}"],
            "models": ["models", "--provider", NAME],
            "models, from a file": ["models", "--refresh", models],
            "decode": ["decode", answer],
            "decode, as JSON": ["decode", "--json", answer],
            "decode, an error": ["decode", "--status", "400", "--dialect", "anthropic", error],
            "guard": ["guard", odd],
            "guard, no file": ["guard", f"{odd}.none"],
            "threads list": ["threads", "list"],
            "threads show": ["threads", "show", "--thinking"],
            "threads show, as JSON": ["threads", "show", "--json"],
            "threads show, none": ["threads", "show", NAME],
            "threads search": ["threads", "search", "title"],
            "threads search, nothing": ["threads", "search", f"{NAME}x"],
            "threads export": ["threads", "export"],
            "stats": ["stats"],
            "doctor, a handoff": ["doctor", "last", "--for", "gpt-5"],
            "contract": ["contract", "anthropic", "--live", "--scenario", "tool_call"],
            "config get": ["config", "get", NAME],
            "config set": ["config", "set", "model", NAME],
            "config, a bad name": ["config", "set", NAME, "x"],
            "keys": ["keys", "remove", NAME],
            "no such command": [NAME],
            "no such option": ["plan", f"--{NAME}"],
        }


def test_no_command_lets_a_control_sequence_through(environment, tmp_path):
    calls = Calls(tmp_path).all()
    outputs = on_a_terminal(list(calls.values()), environment)
    for name, seen in zip(calls, outputs, strict=True):
        left = OURS.sub("", seen)
        assert escape_controls(left) == left, name
        assert "\x1b[8m" not in seen, name
    unshown = {n: o for n, o in zip(calls, outputs, strict=True) if not SPELLED.search(o)}
    assert not unshown


def test_a_pipe_gets_an_answer_byte_for_byte(environment):
    for arguments in (["claude-opus-5/high"], ["--thinking", "claude-opus-5/high"]):
        command = [sys.executable, "-c", _PROGRAM, json.dumps([["ask", *arguments, "hello"]])]
        ended = subprocess.run(command, env=environment, capture_output=True, check=True)
        assert ended.stdout == f"{HOSTILE}\n<0>\n".encode()
        assert (HOSTILE.encode() in ended.stderr) == ("--thinking" in arguments)


def test_no_part_of_the_chat_lets_a_control_sequence_through(environment):
    with running("chat", "claude-opus-5/high", environment=environment, lines=60) as terminal:
        terminal.until("/help")
        terminal.press("hello\r")
        terminal.until("▸ thought", f"say {escape_controls(PAYLOADS[0])} on", "answer 9")
        terminal.press("\x0f")  # the thinking
        terminal.until("▾ thought", "summary")
        terminal.press("fail\r")
        terminal.until(f"✗ say {escape_controls(PAYLOADS[0])} on")
        terminal.until("│ fail")
        terminal.press("\x03")  # clears the line
        terminal.until("│ Say something")
        terminal.press("/raw\r")
        terminal.until('"message":')
        terminal.press("/resume title\r")
        terminal.until("continue a thread", f"title {escape_controls(NAME)}")
        terminal.press("\r")
        terminal.until(f"─ title {escape_controls(NAME)} ", f"⚙ {escape_controls(NAME)}")
        terminal.press("\x0c")  # the list of threads
        terminal.until("+ new thread", "● title")
        terminal.press("\x0c")
        terminal.press("/search say\r")
        terminal.until("with 'say'")
        terminal.press("\x03")
        terminal.without("with 'say'")
        terminal.press("\x1b[A\x1b[A")  # earlier words
        terminal.until(f"│ say {escape_controls(PAYLOADS[-1])} on")
        terminal.press("\x03")
        terminal.until("│ Say something")
        terminal.press(f"/model openai:\x1b[200~{NAME}\x1b[201~\r")
        terminal.until("✗ a model's name has characters that cannot be printed")
        terminal.press("\x04")
        terminal.ended()
        _check_chat(terminal.seen)
    with running("chat", f"openai:{NAME}", environment=environment) as terminal:
        assert terminal.ended() == 2
        assert SPELLED.search(terminal.text)
        _check_chat(terminal.seen)


def _check_chat(seen: bytes) -> None:
    """Textual draws with sequences of its own; none looks like these but the mouse's shape."""
    seen = re.sub(rb"\x1b\]22;[a-z-]*\x07", b"", seen)
    assert not [payload for payload in PAYLOADS if payload.encode() in seen]
    assert b"\x1b]0;" not in seen
    assert "\x9b".encode() not in seen


def test_words_reach_a_screen_in_two_places_only():
    """A guard for new code: nothing else of ours prints or draws."""
    prints = [file.name for file in (SOURCE / "cli").rglob("*.py") if _calls(file, _PRINTERS)]
    assert prints == ["echo.py"]
    draws = [file.name for file in (SOURCE / "tui").rglob("*.py") if _calls(file, {"Markdown"})]
    draws += [
        file.name
        for file in (SOURCE / "tui").rglob("*.py")
        if "Content.styled" in file.read_text("utf-8")
    ]
    assert set(draws) == {"visible.py"}


_PRINTERS = {"click.echo", "click.secho", "click.style", "print", "Console"}


def _calls(file: Path, names: set[str]) -> bool:
    """Return whether a file calls one of these functions."""
    calls = (
        each for each in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(each, ast.Call)
    )
    return any(ast.unparse(call.func) in names for call in calls)
