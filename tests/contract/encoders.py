"""Encoders, and a dial, that are wrong: something else is sent than was asked."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace
from tests.contract.decoders import Mutant, Patch, misuse

from pondero.canon import HttpRequest, Message, Request, Target, Text, ToolResult
from pondero.client import base_client, dial
from pondero.client.dial import resolve_and_plan
from pondero.contract.wire import leaves, wire_value
from pondero.dialects import Dialect
from pondero.errors import BadThinking
from pondero.exchange import planner
from pondero.thinking import UNSET, Intent, Plan, parse_intent, resolve


def encoding(change: Callable[[Request], Request]) -> Mutant:
    """Return the mutant that encodes something else than was asked."""

    def mutate(patch: Patch, wire: Dialect) -> None:
        encode = wire.caller().encode

        def changed(request: Request, plan: Plan, target: Target) -> HttpRequest:
            return encode(change(request), plan, target)

        misuse(patch, wire, encode=changed)

    return mutate


def sending(change: Callable[[dict[str, Any], Plan], None]) -> Mutant:
    """Return the mutant that puts something else into the body."""

    def mutate(patch: Patch, wire: Dialect) -> None:
        encode = wire.caller().encode

        def changed(request: Request, plan: Plan, target: Target) -> HttpRequest:
            http = encode(request, plan, target)
            body = msgspec.json.decode(http.body)
            change(body, plan)
            return replace(http, body=msgspec.json.encode(body))

        misuse(patch, wire, encode=changed)

    return mutate


def _holders(body: Any, plan: Plan) -> Iterator[tuple[Any, Any, Any]]:
    """Yield where the plan's values stand in a body."""
    for path, value in leaves(plan.fields):
        *way, key = path
        holder = wire_value(body, tuple(way))
        if isinstance(holder, dict) and key in holder:
            yield holder, key, value


def wrong_words(body: dict[str, Any], plan: Plan) -> None:
    """A level's word is another's, a figure is off by one, a switch is the other way round."""
    other = {"low": "high", "LOW": "HIGH"}
    for holder, key, value in _holders(body, plan):
        if isinstance(value, bool):
            holder[key] = not value
        elif isinstance(value, int):
            holder[key] = value + 1
        elif isinstance(value, str):
            holder[key] = other.get(value, "low")


def nothing_said(body: dict[str, Any], plan: Plan) -> None:
    """What the plan has to say is forgotten."""
    for holder, key, _ in list(_holders(body, plan)):
        del holder[key]


def said_anyway(body: dict[str, Any], plan: Plan) -> None:
    """A wish is written into the body whatever the plan says of it."""
    if plan.asked is not None:
        body["thinking_effort"] = str(plan.asked)


def messages(change: Callable[[Message], Message]) -> Callable[[Request], Request]:
    return lambda request: replace(request, messages=tuple(map(change, request.messages)))


def parts(change: Callable[[Any], Any]) -> Callable[[Request], Request]:
    return messages(lambda message: replace(message, parts=tuple(map(change, message.parts))))


def as_words(part: Any) -> Any:
    return Text("Sunny.") if isinstance(part, ToolResult) else part


def as_user(message: Message) -> Message:
    words = tuple(p for p in message.parts if isinstance(p, Text | ToolResult))
    return Message("user", words) if message.role == "assistant" and words else message


def key_in_the_address(patch: Patch, wire: Dialect) -> None:
    """The key goes into the URL, where proxies and logs can read it."""
    encode = wire.caller().encode

    def changed(request: Request, plan: Plan, target: Target) -> HttpRequest:
        http = encode(request, plan, target)
        key = next(iter(target.headers.values()), "").removeprefix("Bearer ")
        return replace(http, url=f"{http.url}{'&' if '?' in http.url else '?'}key={key}")

    misuse(patch, wire, encode=changed)


# -- a dial that is wrong ---------------------------------------------------------------------


def anything_goes(patch: Patch, wire: Dialect) -> None:
    """A level that is none is quietly taken for no wish."""

    def lenient(*args: Any, **named: Any) -> Any:
        try:
            return parse_intent(*args, **named)
        except BadThinking:
            return UNSET

    patch.setattr(dial, "parse_intent", lenient)
    patch.setattr(dial, "_PLAIN", ())  # nothing is remembered from before


def another_level(patch: Patch, wire: Dialect) -> None:
    """Levels are taken for other levels: the dial is wrong, and its plan agrees with it."""
    others: dict[str | None, str | None] = {"low": "high", "medium": "high", "high": "low"}

    def wrong(intent: Intent, *args: Any, **named: Any) -> Any:
        return resolve(
            replace(intent, level=others.get(intent.level, intent.level)), *args, **named
        )

    _turned(patch, wrong)


def unshown(patch: Patch, wire: Dialect) -> None:
    """Readable thinking is never asked for."""

    def wrong(*args: Any, **named: Any) -> Any:
        return replace(resolve(*args, **named), show=None)

    _turned(patch, wrong)


def _turned(patch: Patch, wrong: Callable[..., Any]) -> None:
    patch.setattr(planner, "resolve", wrong)
    patch.setattr(dial, "_PLAIN", ())  # nothing is remembered from before


def thinks_unasked(patch: Patch, wire: Dialect) -> None:
    """No wish is taken for a small one."""

    def eager(model: str, thinking: object, *args: Any, **named: Any) -> Any:
        return resolve_and_plan(model, "high" if thinking is None else thinking, *args, **named)

    patch.setattr(base_client, "resolve_and_plan", eager)
