"""Programs that send requests for several purposes: each gets the level of its own rule.

A session fails if a purpose that the program has was not seen, if another one was seen, if a
request did not get the level of its rule, or if the conversation itself was changed by one.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from programs import (
    KEY,
    Agent,
    Command,
    Session,
    fill_call,
    judge_command,
    launch_program,
    make_places,
)
from services import Setup, find_rejections, run_services

MODELS: Mapping[str, str] = {
    "claude-opus-5": "anthropic:claude-opus-5",
    "gemini-*": "google:gemini-3-flash-preview",
}
"""The names that programs ask for, and the models that answer."""
RULES: Mapping[str, str] = {
    "title": "off",
    "summary": "low",
    "compact": "medium",
    "classify": "low",
    "subagent": "low",
}
"""The level of each purpose; the conversations ask for high."""
PURPOSES = ("main", *RULES)


def run_session(row: Session, agent: Agent, program: str) -> tuple[list[str], list[str]]:
    """Return a cell for each purpose, and what went wrong."""
    setup = Setup(upstreams=MODELS, lines=tuple(write_rules()))
    problems: list[str] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        run_services(Path(folder), setup) as services,
        make_places("A note.\n") as places,
    ):
        for name, text in row.files.items():
            file = places.home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        launch = launch_program(agent, row.model, services, places)
        said = {"url": services.url, "key": KEY, "model": row.model, "note": str(places.note)}
        said |= {"ask": fill_call(agent, places)}
        for turn in row.turns:
            own = tuple(Template(each).substitute(said) for each in turn.arguments)
            variables = {**launch.env, **row.env, **turn.env}
            command = Command((program, *launch.arguments, *own), variables, places.work)
            problems += judge_command(command, answers=())
        records = [each for each in services.records() if "purpose" in each]
        problems += find_rejections(services.entries())
    problems += judge_records(records, row.purposes)
    return [_describe(purpose, records, row.without) for purpose in PURPOSES], problems


def write_rules() -> list[str]:
    """Return the rules for a gateway.toml."""
    return [
        line
        for purpose, level in RULES.items()
        for line in (
            "[[rule]]",
            f'when = {{ purpose = "{purpose}" }}',
            f'thinking = {{ force = "{level}" }}',
            "",
        )
    ]


def judge_records(records: Sequence[Mapping[str, Any]], purposes: Sequence[str]) -> list[str]:
    """Return what is wrong with the purposes and the levels of a session."""
    seen = {each["purpose"] for each in records}
    problems = [f"no request was for {each}" for each in sorted(set(purposes) - seen)]
    problems += [f"a request was for {each}" for each in sorted(seen - set(purposes))]
    for record in records:
        purpose, why, sent = record["purpose"], record.get("why"), record.get("sent")
        rule = None if purpose == "main" else f"rule:{purpose}"
        if (why if str(why).startswith("rule:") else None) != rule:
            problems.append(f"a request for {purpose} has why={why}")
        elif rule is not None and sent != RULES[purpose]:
            problems.append(f"a request for {purpose} was sent with {sent}")
    return problems


def _describe(
    purpose: str, records: Sequence[Mapping[str, Any]], without: Mapping[str, str]
) -> str:
    whys = [str(each.get("why") or "body") for each in records if each["purpose"] == purpose]
    if whys:
        return f"{len(whys)} x {'/'.join(sorted(set(whys)))}"
    return without.get(purpose, "-")
