"""Runs real agents through the gateway on the strict emulator and prints what happened.

Each agent reads a file with a tool and then does a sum in the same conversation, on each upstream.
A run fails if an answer is missing, if the file's text did not reach the upstream, or if the
emulator rejected any request, also one that the agent repaired by itself.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from services import UPSTREAMS, Services, run_services

from pondero.gateway import load_clients, prepare_launch
from pondero.gateway.launch.clients import ChosenModel

HERE = Path(__file__).parent
WORDS = "The grey owl sleeps at noon."
SUM, RESULT = "What is 17 * 23?", "391"
KEY = "a-key-of-nobody"
LIMIT = 180  # seconds of a turn
# Nothing but this machine is reached: a proxy that is not there answers for all other addresses.
OUTSIDE = dict.fromkeys(
    ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9"
)
DIRECT = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
KEPT = ("PATH", "LANG", "TERM", "SYSTEMROOT")


class Turn(Struct, frozen=True, forbid_unknown_fields=True):
    """One start of a program."""

    arguments: tuple[str, ...]
    env: Mapping[str, str] = {}


class Agent(Struct, frozen=True, forbid_unknown_fields=True):
    """One row of agents.toml, which explains each field."""

    label: str
    program: str
    install: str
    client: str | None = None
    call: str = 'read_note {"name": "owl"}'
    env: Mapping[str, str] = {}
    turns: tuple[Turn, ...] = ()
    loop: str = ""
    needs: tuple[str, ...] = ()
    fronts: tuple[str, ...] = ()


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    agent: tuple[Agent, ...]


class Command(Struct, frozen=True):
    """A program with its arguments and its whole environment."""

    arguments: tuple[str, ...]
    env: Mapping[str, str]
    folder: Path


def load_agents() -> list[Agent]:
    """Return the agents; a library once for each of its client APIs."""
    rows = msgspec.toml.decode((HERE / "agents.toml").read_bytes(), type=_Table).agent
    return [
        replace(row, label=f"{row.label}, {front}", env={**row.env, "FRONT": front})
        if front
        else row
        for row in rows
        for front in row.fronts or ("",)
    ]


# -- what is installed -----------------------------------------------------------------------------


def find_program(agent: Agent, agents: Path) -> str | None:
    """Return the path of an agent's program; None if it is missing."""
    folders = (agents / "bin", agents / "node_modules" / ".bin")
    if agent.program == "python":
        return shutil.which("python", path=str(folders[0]))
    path = os.pathsep.join((*map(str, folders), os.environ["PATH"]))
    return shutil.which(agent.program, path=path)


def find_version(agent: Agent, program: str, agents: Path) -> str | None:
    """Return the versions of an agent or of its packages; None if it is missing."""
    if not agent.loop:
        with tempfile.TemporaryDirectory() as home:
            done = _run(Command((program, "--version"), _base_env(Path(home)), Path(home)))
        found = re.search(r"\d+\.\d+[\w.-]*", done.stdout or done.stderr)
        return found[0] if found else None
    versions = [_find_package(name, agent.program, program, agents) for name in agent.needs]
    if not versions[0]:
        return None
    return ", ".join(f"{n} {v}" for n, v in zip(agent.needs, versions, strict=True) if v)


def _find_package(name: str, kind: str, program: str, agents: Path) -> str | None:
    if kind == "node":
        file = agents / "node_modules" / name / "package.json"
        return msgspec.json.decode(file.read_bytes())["version"] if file.exists() else None
    code = f"from importlib.metadata import version; print(version({name!r}))"
    done = subprocess.run([program, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


# -- one run ---------------------------------------------------------------------------------------


def run_agent(
    agent: Agent, program: str, model: str, services: Services, agents: Path
) -> list[str]:
    """Return what went wrong when an agent used a model; empty if nothing did."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for each in ("home", "work", "private"):
            (folder / each).mkdir()
        note = folder / "work" / "owl.txt"
        note.write_text(WORDS + "\n", encoding="utf-8")
        words = {"note": str(note), "sum": SUM}
        call = Template(agent.call).substitute(words)
        words["ask"] = f"What does the note say? [emulator: call {call}]"
        services.reset()
        commands = _iter_commands(agent, program, model, services, folder, words, agents)
        problems = [problem for command in commands for problem in _judge_turn(command, agent)]
        return problems + judge_log(services.entries(), model)


def _iter_commands(
    agent: Agent,
    program: str,
    model: str,
    services: Services,
    folder: Path,
    words: Mapping[str, str],
    agents: Path,
) -> Iterator[Command]:
    env = _base_env(folder / "home")
    if agent.loop:
        said = {"URL_OF_GATEWAY": services.url, "KEY": KEY, "MODEL": model}
        said |= {"ASK": words["ask"], "SUM": SUM, "NOTE": words["note"]}
        text = (HERE / "loops" / agent.loop).read_text("utf-8")
        how = ("--input-type=module", "-e") if agent.program == "node" else ("-c",)
        yield Command((program, *how, text), {**env, **said, **agent.env}, agents)
        return
    entry = services.routing.resolve(model).entries[0]
    os.environ["HOME"] = str(folder / "home")  # settings of the user are not for these runs
    launch = prepare_launch(
        load_clients()[agent.client or ""],
        ChosenModel(model, entry),
        routing=services.routing,
        url=services.url,
        key=KEY,
        folder=folder / "private",
        environment=env,
    )
    for turn in agent.turns:
        own = tuple(Template(each).substitute(words) for each in turn.arguments)
        variables = {**launch.env, **agent.env, **turn.env}
        yield Command((program, *launch.arguments, *own), variables, folder / "work")


def _base_env(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**kept, "HOME": str(home), **OUTSIDE, **DIRECT}


def _run(command: Command) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command.arguments,
        env=command.env,
        cwd=command.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def _judge_turn(command: Command, agent: Agent) -> Iterator[str]:
    """Yield what is missing in the output of one start."""
    try:
        done = _run(command)
    except subprocess.TimeoutExpired:
        yield f"no end after {LIMIT} s"
        return
    asked = " ".join(command.arguments) if not agent.loop else "\n".join(command.env.values())
    for question, answer in (("[emulator: call", WORDS), (SUM, RESULT)):
        if question in asked and answer not in done.stdout:
            said = (done.stderr or done.stdout).strip()[-600:]
            yield f"exit {done.returncode}, no {answer!r} in the answer: {said}"


def judge_log(entries: list[dict[str, Any]], model: str) -> list[str]:
    """Return what the upstream says of a run: what it rejected, and what it was not asked."""
    problems = [
        f"{each['service']} rejected {each['path']} with {each['status']}: {each['refusal']}"
        for each in entries
        if (each.get("status") or 0) >= 400 and each.get("refusal")
    ]
    provider = UPSTREAMS[model].partition(":")[0]
    reached = [
        each
        for each in entries
        if each.get("service") == provider and WORDS in msgspec.json.encode(each["body"]).decode()
    ]
    return problems if reached else [*problems, f"the tool's result did not reach {provider}"]


# -- all of them -----------------------------------------------------------------------------------


def main() -> int:
    """Run what is installed; return 1 if a run failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--folder", type=Path, default=Path("build/agents"), help="where agents are installed"
    )
    parser.add_argument("--only", default="", help="agents whose label contains this")
    parser.add_argument(
        "--model", choices=UPSTREAMS, action="append", help="one upstream; may be repeated"
    )
    options = parser.parse_args()
    agents, models = options.folder.resolve(), options.model or list(UPSTREAMS)
    rows = []
    with tempfile.TemporaryDirectory() as folder, run_services(Path(folder)) as services:
        for agent in load_agents():
            if options.only.lower() not in agent.label.lower():
                continue
            program = find_program(agent, agents)
            version = find_version(agent, program, agents) if program else None
            if program is None or version is None:
                line = f"cd {shlex.quote(str(options.folder))} && {agent.install}"
                print(f"skipped {agent.label}: not installed; {line}", flush=True)
                continue
            cells = []
            for model in models:
                problems = run_agent(agent, program, model, services, agents)
                cells.append("FAILED" if problems else "ok")
                print(f"{agent.label} on {model}: {cells[-1]}", *problems, sep="\n  ", flush=True)
            rows.append((agent.label, version, *cells))
    _print_table(("agent", "version", *models), rows)
    failed = any("FAILED" in row for row in rows)
    return 1 if failed or not rows else 0


def _print_table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    print(
        "",
        *("| " + " | ".join(row) + " |" for row in (head, ("---",) * len(head), *rows)),
        sep="\n",
    )


if __name__ == "__main__":
    sys.exit(main())
