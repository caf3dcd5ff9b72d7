"""Programs whose level changes between turns: how much of the prompt stays in the cache.

Each conversation runs twice: once the gateway may send a change inside the conversation, once its
upstreams have no such form and the change is at the top of the request. The emulator counts what it
read from its cache. A conversation fails

- if a prompt after the first turn finds less than MARK of the one before it in the cache,
- if the same conversation with changes at the top reaches that mark, so that it shows nothing,
- if the bytes of an earlier turn changed, other than by a cache breakpoint that moved,
- if the last level that reached the service is not the one that the program asked for.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from string import Template
from typing import Any

import msgspec
from msgspec import Raw, Struct
from programs import (
    KEY,
    RESULT,
    SUM,
    WORDS,
    Agent,
    Command,
    Conversation,
    fill_call,
    judge_command,
    launch_program,
    make_places,
)
from services import Services, Setup, find_rejections, run_services

CHANGED: Mapping[str, str] = {
    "claude-opus-5": "anthropic:claude-opus-5",
    "gpt-6-sol": "openai:gpt-6-sol",
    "router-gpt-6-sol": "openrouter:openai/gpt-6-sol",
}
"""The names that programs ask for, and the models that take a level inside a conversation."""
LEVELS = ("high", "low", "low", "medium", "high", "max", "low")
MARK = 0.95
_LINES = 240
NOTE = "".join(
    f"{WORDS} This is line {number} of a long note about owls, hills and clocks.\n"
    for number in range(_LINES)
)
"""A long note: what is at stake is the conversation, not the tools and the system prompt."""
_MARKS = ("cache_control", "prompt_cache_breakpoint")
_TURNS = ("messages", "input")
_LEVELS_AT = (("output_config", "effort"), ("reasoning", "effort"), ("reasoning_effort",))


class CachedPrompt(Struct, frozen=True):
    """The tokens of one prompt, and how many of them were read from the cache."""

    whole: int
    read: int


class SentRequest(Struct, frozen=True):
    """A request as it reached the service: its turns and its other fields, in their bytes."""

    turns: tuple[bytes, ...]
    fields: Mapping[str, bytes]

    @property
    def top(self) -> str | None:
        """Return the level at the top."""
        return _find_level({name: msgspec.json.decode(raw) for name, raw in self.fields.items()})

    @property
    def level(self) -> str | None:
        """Return the level in effect: the last one inside the turns, else that at the top."""
        said = (_find_update(msgspec.json.decode(turn)) for turn in reversed(self.turns))
        return next((level for level in said if level is not None), self.top)


class ConversationRun(Struct, frozen=True):
    """What came of one conversation: prompts by turn of the user, requests, and problems."""

    prompts: Sequence[Sequence[CachedPrompt]]
    requests: Sequence[SentRequest]
    problems: list[str]


class ConversationResult(Struct, frozen=True):
    """The shares inside and at the top as a text, what was sent again, and what went wrong."""

    cell: str
    repeated: str
    problems: list[str]


def run_conversation(
    row: Conversation, agent: Agent, program: str, model: str
) -> ConversationResult:
    """Run a conversation with changes inside, and again with changes at the top."""
    runs = []
    for in_band in (True, False):
        setup = Setup(upstreams=CHANGED, in_band=in_band)
        with tempfile.TemporaryDirectory() as folder, run_services(Path(folder), setup) as services:
            runs.append(_run_turns(row, agent, program, model, services))
    inside, top = runs
    shares = [find_shares(run.prompts) for run in runs]
    problems = [
        *inside.problems,
        *top.problems,
        *judge_shares(*shares),
        *judge_prefix(inside.requests),
    ]
    means = (f"{sum(each) / len(each):.1%}" if each else "nothing" for each in shares)
    return ConversationResult(" / ".join(means), describe_repeated(inside.requests), problems)


def _run_turns(
    row: Conversation, agent: Agent, program: str, model: str, services: Services
) -> ConversationRun:
    problems: list[str] = []
    prompts: list[list[CachedPrompt]] = []
    asked = 0
    with make_places(NOTE) as places:
        services.reset()
        launch = launch_program(agent, model, services, places)
        said = {"url": services.url, "key": KEY, "model": model}
        env = {name: Template(text).safe_substitute(said) for name, text in row.env.items()}
        for number, level in enumerate(LEVELS):
            prompt, answer = (SUM, RESULT) if number else (fill_call(agent, places), WORDS)
            arguments = row.later if number else row.first
            words = {"level": level, "prompt": prompt}
            own = tuple(Template(each).substitute(words) for each in arguments)
            variables = {**launch.env, **agent.env, **env}
            command = Command((program, *launch.arguments, *own), variables, places.work)
            problems += judge_command(command, answers=(answer,))
            records = [each for each in services.records() if each.get("purpose") == "main"]
            prompts.append([read_prompt(each) for each in records[asked:]])
            asked = len(records)
            sent = list(_iter_sent(services))
            if not sent or sent[-1].level != level:
                found = sent[-1].level if sent else "nothing"
                problems.append(f"turn {number + 1} asked for {level}; {found} reached the service")
        problems += find_rejections(services.entries())
    return ConversationRun(prompts, list(_iter_sent(services)), problems)


def _iter_sent(services: Services) -> Iterator[SentRequest]:
    """Yield the requests of the conversation; those without tools are titles and the like."""
    for http in services.requests:
        try:
            fields = msgspec.json.decode(http.body, type=dict[str, Raw])
        except msgspec.DecodeError:
            continue
        name = next((each for each in _TURNS if each in fields), None)
        if name is None or not msgspec.json.decode(fields.get("tools", Raw(b"[]"))):
            continue
        turns = msgspec.json.decode(fields.pop(name), type=list[Raw])
        others = {key: bytes(raw) for key, raw in fields.items()}
        yield SentRequest(tuple(bytes(turn) for turn in turns), others)


def read_prompt(record: Mapping[str, Any]) -> CachedPrompt:
    """Return what a record of the gateway says of its prompt."""
    counts = record.get("tokens", {})
    read = counts.get("cache_read", 0)
    return CachedPrompt(counts.get("input", 0) + read + counts.get("cache_write", 0), read)


def find_shares(prompts: Sequence[Sequence[CachedPrompt]]) -> list[float]:
    """Return, for each request after the first turn, how much of the prompt before was cached."""
    first = len(prompts[0]) if prompts else 0
    every = [prompt for turn in prompts for prompt in turn]
    return [
        min(1.0, now.read / before.whole)
        for before, now in zip(every[first - 1 :], every[first:], strict=False)
        if before.whole
    ]


def judge_shares(inside: Sequence[float], top: Sequence[float]) -> list[str]:
    """Return what is wrong with the shares of the two runs."""
    problems = []
    if len(inside) < len(LEVELS) - 1 or len(top) < len(LEVELS) - 1:
        problems.append(f"{len(inside)} and {len(top)} prompts were counted after the first turn")
    if low := [f"{share:.1%}" for share in inside if share < MARK]:
        problems.append(f"below {MARK:.0%} with changes inside: {', '.join(low)}")
    if top and sum(top) / len(top) >= MARK:
        problems.append(f"changes at the top reach {MARK:.0%} too, so this run shows nothing")
    return problems


def judge_prefix(requests: Sequence[SentRequest]) -> list[str]:
    """Return which bytes of a request are not those of the request before it."""
    problems = []
    for number, (before, now) in enumerate(pairwise(requests), 2):
        if before.top != now.top:
            problems.append(f"request {number} has {now.top} at the top after {before.top}")
        problems += [
            f"request {number} has other {name}"
            for name in ("tools", "system", "instructions")
            if _without_marks(before.fields.get(name)) != _without_marks(now.fields.get(name))
        ]
        problems += [
            f"request {number} has another turn {place}: {old[:120]!r} became {new[:120]!r}"
            for place, (old, new) in enumerate(zip(before.turns, now.turns, strict=False), 1)
            if old != new and _without_marks(old) != _without_marks(new)
        ]
        if len(now.turns) < len(before.turns):
            problems.append(f"request {number} is shorter than the one before it")
    return problems


def describe_repeated(requests: Sequence[SentRequest]) -> str:
    """Return how many turns were sent again with the same bytes."""
    pairs = [
        old == new
        for before, now in pairwise(requests)
        for old, new in zip(before.turns, now.turns, strict=False)
    ]
    rest = len(pairs) - sum(pairs)
    return f"repeated turns: {sum(pairs)} byte for byte, {rest} but for a breakpoint"


def _without_marks(raw: bytes | None) -> Any:
    """Return a value without its cache breakpoints; a text alone is the same without its list."""
    return None if raw is None else _strip(msgspec.json.decode(raw))


def _strip(value: Any) -> Any:
    if isinstance(value, list):
        return [_strip(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _strip(inner) for key, inner in value.items() if key not in _MARKS}
    for name in ("content", "output"):
        match kept.get(name):
            case [{"type": "text" | "input_text", "text": str(text), **more}] if not more:
                kept[name] = text
    return kept


def _find_level(fields: Mapping[str, Any]) -> str | None:
    for path in _LEVELS_AT:
        value: Any = fields
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str):
            return value
    return None


def _find_update(turn: Any) -> str | None:
    """Return the level that a turn sets for those after it."""
    if not isinstance(turn, dict):
        return None
    inner = turn.get("configuration_update", turn)
    is_update = inner is not turn or turn.get("type") == "configuration_update"
    return _find_level(inner) if is_update or turn.get("role") == "system" else None
