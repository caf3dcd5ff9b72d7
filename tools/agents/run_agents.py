"""Runs real agents through the gateway on the strict emulator and prints what happened.

Part loops: each agent reads a file with a tool and then does a sum in the same conversation, on
each upstream. A run fails if an answer is missing, if the file's text did not reach the upstream,
or if the emulator rejected any request, also one that the agent repaired by itself.

Part levels: programs whose level changes between turns, and how much of the prompt stays cached.

Part purposes: programs that make titles, subagents and compactions, under rules of their own.
"""

import argparse
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Any

import msgspec
from level_changes import CHANGED, run_conversation
from msgspec import Struct
from msgspec.structs import replace
from programs import (
    HERE,
    KEY,
    RESULT,
    SUM,
    WORDS,
    Agent,
    Command,
    Places,
    base_env,
    fill_call,
    find_program,
    find_version,
    judge_command,
    launch_program,
    load_table,
    make_places,
)
from purposes import PURPOSES, run_session
from services import UPSTREAMS, Services, Setup, find_rejections, run_services


class Installed(Struct, frozen=True):
    """An agent that is installed: its program and its version."""

    agent: Agent
    program: str
    version: str


class Options(Struct, frozen=True):
    """What the command line says."""

    folder: Path
    only: str
    models: tuple[str, ...]

    def find(self, label: str, agent: Agent) -> Installed | None:
        """Return an agent that is meant and installed; a missing one is reported."""
        if self.only.lower() not in label.lower():
            return None
        agents = self.folder.resolve()
        program = find_program(agent, agents)
        version = find_version(agent, program, agents) if program else None
        if program is None or version is None:
            line = f"cd {shlex.quote(str(self.folder))} && {agent.install}"
            print(f"skipped {label}: not installed; {line}", flush=True)
            return None
        return Installed(agent, program, version)


Rows = list[tuple[str, ...]]


def load_agents() -> list[Agent]:
    """Return the agents; a library once for each of its client APIs."""
    return [
        replace(row, label=f"{row.label}, {front}", env={**row.env, "FRONT": front})
        if front
        else row
        for row in load_table().agent
        for front in row.fronts or ("",)
    ]


# -- tool loops ------------------------------------------------------------------------------------


def run_agent(found: Installed, model: str, services: Services, agents: Path) -> list[str]:
    """Return what went wrong when an agent used a model; empty if nothing did."""
    agent = found.agent
    with make_places(f"{WORDS}\n") as places:
        words = {"note": str(places.note), "sum": SUM, "ask": fill_call(agent, places)}
        services.reset()
        problems: list[str] = []
        for command in _iter_commands(found, model, services, places, words, agents):
            asked = "\n".join(command.env.values()) if agent.loop else " ".join(command.arguments)
            answers = {words["ask"]: WORDS, SUM: RESULT}
            expected = tuple(answer for text, answer in answers.items() if text in asked)
            problems += judge_command(command, answers=expected)
        return problems + judge_log(services.entries(), model)


def _iter_commands(
    found: Installed,
    model: str,
    services: Services,
    places: Places,
    words: Mapping[str, str],
    agents: Path,
) -> Iterator[Command]:
    agent, program = found.agent, found.program
    if agent.loop:
        said = {"URL_OF_GATEWAY": services.url, "KEY": KEY, "MODEL": model}
        said |= {"ASK": words["ask"], "SUM": SUM, "NOTE": words["note"]}
        text = (HERE / "loops" / agent.loop).read_text("utf-8")
        how = ("--input-type=module", "-e") if agent.program == "node" else ("-c",)
        env = {**base_env(places.home), **said, **agent.env}
        yield Command((program, *how, text), env, agents)
        return
    launch = launch_program(agent, model, services, places)
    for turn in agent.turns:
        own = tuple(Template(each).substitute(words) for each in turn.arguments)
        variables = {**launch.env, **agent.env, **turn.env}
        yield Command((program, *launch.arguments, *own), variables, places.work)


def judge_log(entries: list[dict[str, Any]], model: str) -> list[str]:
    """Return what the upstream says of a run: what it rejected, and what it was not asked."""
    problems = find_rejections(entries)
    provider = UPSTREAMS[model].partition(":")[0]
    reached = [
        each
        for each in entries
        if each.get("service") == provider and WORDS in msgspec.json.encode(each["body"]).decode()
    ]
    return problems if reached else [*problems, f"the tool's result did not reach {provider}"]


# -- all of them -----------------------------------------------------------------------------------


def run_loops(options: Options) -> bool | None:
    """Run one tool loop on each upstream; return whether all went well, None without any."""
    models = options.models or tuple(UPSTREAMS)
    rows: Rows = []
    setup = Setup(upstreams=UPSTREAMS)
    with tempfile.TemporaryDirectory() as folder, run_services(Path(folder), setup) as services:
        for agent in load_agents():
            found = options.find(agent.label, agent)
            if found is None:
                continue
            cells = []
            for model in models:
                problems = run_agent(found, model, services, options.folder.resolve())
                cells.append("FAILED" if problems else "ok")
                _report(f"{agent.label} on {model}", cells[-1], problems)
            rows.append((agent.label, found.version, *cells))
    return _print_table(("agent", "version", *models), rows)


def run_levels(options: Options) -> bool | None:
    """Change levels in conversations; return whether all went well, None without any."""
    table = load_table()
    models = options.models or tuple(CHANGED)
    rows: Rows = []
    for row in table.conversation:
        found = options.find(row.label, table.find_agent(row.agent))
        if found is None:
            continue
        cells = []
        for model in models:
            if model not in row.models:
                cells.append("-")
                continue
            came = run_conversation(row, found.agent, found.program, model)
            cells.append(f"{came.cell} FAILED" if came.problems else came.cell)
            _report(f"{row.label} on {model}", f"{cells[-1]}; {came.repeated}", came.problems)
        rows.append((row.label, found.version, *cells))
    return _print_table(("cached inside / at the top", "version", *models), rows)


def run_purposes(options: Options) -> bool | None:
    """Make requests for several purposes; return whether all went well, None without any."""
    table = load_table()
    rows: Rows = []
    for row in table.session:
        found = options.find(row.label, table.find_agent(row.agent))
        if found is None or (options.models and row.model not in options.models):
            continue
        cells, problems = run_session(row, found.agent, found.program)
        _report(f"{row.label} on {row.model}", "FAILED" if problems else "ok", problems)
        rows.append((row.label, found.version, row.model, *cells))
    return _print_table(("program", "version", "model", *PURPOSES), rows)


PARTS: Mapping[str, Callable[[Options], bool | None]] = {
    "loops": run_loops,
    "levels": run_levels,
    "purposes": run_purposes,
}


def main() -> int:
    """Run what is installed; return 1 if a run failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--folder", type=Path, default=Path("build/agents"), help="where agents are installed"
    )
    parser.add_argument("--only", default="", help="agents whose label contains this")
    parser.add_argument("--model", action="append", help="one upstream; may be repeated")
    parser.add_argument(
        "--part", choices=PARTS, action="append", help="one part; may be repeated (default: all)"
    )
    said = parser.parse_args()
    options = Options(said.folder, said.only, tuple(said.model or ()))
    ends = [PARTS[part](options) for part in said.part or PARTS]
    return 1 if False in ends or ends == [None] * len(ends) else 0


def _report(what: str, cell: str, problems: list[str]) -> None:
    print(f"{what}: {cell}", *problems, sep="\n  ", flush=True)


def _print_table(head: tuple[str, ...], rows: Rows) -> bool | None:
    """Print a table; return whether no cell failed, None without rows."""
    if not rows:
        return None
    print(
        "",
        *("| " + " | ".join(row) + " |" for row in (head, ("---",) * len(head), *rows)),
        "",
        sep="\n",
        flush=True,
    )
    return not any("FAILED" in cell for row in rows for cell in row)


if __name__ == "__main__":
    sys.exit(main())
