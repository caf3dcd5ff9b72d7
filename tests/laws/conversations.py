"""Drives a conversation on the emulator, and notes what each request said as its service reads it.

``Conversation`` is for laws and proofs: change the level or the model, branch, save, run tools;
``requests`` has what was sent, ``replies`` what came back.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

import pondero
from pondero.canon import HttpRequest, Json, Reply
from pondero.client import load_catalog
from pondero.dialects import NAMES, Rejected
from pondero.emulator import Emulator
from pondero.emulator.routes import find_route
from pondero.exchange import Timeouts
from pondero.thinking import Plan, depth_paths

_USUAL = Timeouts()
_CONVERSATION = ("messages", "input", "contents")


def get_weather(city: str) -> str:
    """Get the weather."""
    return f"it is fine in {city}"


def list_models() -> list[str]:
    """Return a model of every family that converses: with a level inside, first."""
    found: dict[tuple[str, str, bool], str] = {}
    catalog = load_catalog()
    for provider in catalog.catalog.providers.values():
        for entry in catalog.entries(provider.name) if provider.dialect in NAMES else ():
            if entry.capability.thinks and entry.capability.levels:
                found.setdefault((provider.name, entry.family, entry.takes_level_turns), entry.id)
    return [model for key, model in sorted(found.items(), key=lambda item: not item[0][2])]


def list_families() -> list[str]:
    """Return a model of every family in every API that it is served in."""
    catalog = load_catalog()
    found: dict[tuple[str, str, bool], str] = {}
    for model in list_models():
        entry = catalog.entry(model)
        key = (entry.provider.dialect, entry.family, entry.takes_level_turns)
        found.setdefault(key, model)
    return list(found.values())


def list_inside_models() -> list[str]:
    """Return every model of the catalog that takes a level inside the conversation."""
    catalog = load_catalog()
    return [
        entry.id
        for provider in catalog.catalog.providers.values()
        for entry in catalog.entries(provider.name)
        if entry.takes_level_turns and entry.capability.efforts
    ]


class SentRequest(Struct, frozen=True):
    """A request as sent: its plan, the elements of its conversation, and its stated level.

    ``level``: what the service reads as the level in effect.
    """

    plan: Plan
    elements: tuple[bytes, ...]
    stated: bytes
    level: str | None

    @property
    def codes(self) -> list[str]:
        """Return the codes of its adjustments."""
        return [note.code for note in self.plan.adjustments]

    def extends(self, before: "SentRequest") -> bool:
        """Return whether it begins with the other: the same level stated, the same elements."""
        same = self.elements[: len(before.elements)] == before.elements
        return self.plan.model == before.plan.model and self.stated == before.stated and same


class _Tap(Emulator):
    """An emulator that shows each request before it answers."""

    def __init__(self, show: Callable[[HttpRequest], None]) -> None:
        super().__init__()
        self._show = show

    def send(self, request: HttpRequest, timeouts: Timeouts = _USUAL) -> Any:
        self._show(request)
        return super().send(request, timeouts)


class Conversation:
    """A chat on an emulator of its own."""

    def __init__(self, model: str, level: str | None = None, **options: Any) -> None:
        self.emulator = _Tap(self._note)
        self._plan: Plan | None = None
        self.requests: list[SentRequest] = []
        self.replies: list[Reply] = []
        self._client = pondero.Client(transport=self.emulator, on_request=self._plan_next)
        self._options = options
        self.chat = pondero.Chat(model, level, client=self._client, **options)

    def _plan_next(self, prepared: pondero.Prepared) -> None:
        self._plan = prepared.plan

    def _note(self, request: HttpRequest) -> None:
        assert self._plan is not None
        entry = load_catalog().entry(self._plan.model)
        body = msgspec.json.decode(request.body)
        said: list[Json] = next((body[name] for name in _CONVERSATION if name in body), [])
        stated = {path: _get(body, path) for path in depth_paths(entry.placement)}
        self.requests.append(
            SentRequest(
                self._plan,
                tuple(msgspec.json.encode(without_breakpoints(each)) for each in said),
                repr(sorted(stated.items())).encode(),
                read_level(request),
            )
        )

    def say(self, prompt: Any = "What is 17 * 23?", **options: Any) -> Reply:
        """Send a prompt and return the reply."""
        reply = self.chat.send(prompt, **options)
        self.replies.append(reply)
        return reply

    def use_tools(self) -> Reply:
        """Ask what only a tool can answer, if the model takes tools."""
        return self.say("What is the weather in Paris?")

    def reload(self) -> None:
        """Save the chat and continue the saved one."""
        tools = self._options.get("tools", ())
        self.chat = pondero.Chat.from_json(self.chat.to_json(), tools=tools, client=self._client)

    def branch(self) -> None:
        """Continue in a branch, after the chat itself has gone another way."""
        other = self.chat.branch()
        sent, replies = len(self.requests), len(self.replies)
        self.say("Name a colour.")
        del self.requests[sent:], self.replies[replies:]
        self.chat = other


def read_level(request: HttpRequest) -> str | None:
    """Return the level in effect, as the strict service reads it; raises AssertionError if not."""
    route = find_route(request.url, provider=None)
    assert route is not None
    try:
        accepted = route.wire.service().accept(request, route.provider)
    except Rejected as no:
        raise AssertionError(f"{request.url}: {no.response.body.decode()}") from None
    intent = accepted.intent
    return "off" if intent.kind == "off" else intent.level


def without_breakpoints(value: Json) -> Json:
    """Return a part of a body without its cache breakpoints, which move with every turn."""
    if isinstance(value, list):
        return [without_breakpoints(each) for each in value]
    if isinstance(value, dict):
        marks = ("cache_control", "prompt_cache_breakpoint")
        kept = {key: without_breakpoints(value[key]) for key in value if key not in marks}
        if (texts := kept.get("content")) and isinstance(texts, list) and len(texts) == 1:
            kept["content"] = texts[0].get("text", texts)  # a text, with or without its list
        return kept
    return value


def _get(body: Json, path: tuple[str, ...]) -> Json:
    for key in path:
        body = body.get(key) if isinstance(body, dict) else None
    return body
