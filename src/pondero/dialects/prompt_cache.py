"""How services cache prompts, and on which parts of a request the cached prefix depends.

The facts are rows of ``prompt_caches.toml``. The service's side of a dialect makes a
``PromptPrefix`` of each request; the emulator keeps the cache.
"""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import Literal
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from ..canon import CacheBreakpoint, HttpRequest, Image, Json, Message, Part, Request, ToolResult
from ..thinking import Intent
from .tables import load_table

Layer = Literal["tools", "system", "messages"]
"""The parts of a prompt, in the order in which services render it."""
Setting = Literal["level", "format", "tool_choice", "images", "speed", "web_search", "citations"]
"""A part of a request that is rendered into the prompt in addition to its text."""
MissReason = Literal[
    "model_changed",
    "system_changed",
    "tools_changed",
    "messages_changed",
    "previous_message_not_found",
    "unavailable",
]
"""Why a prefix was not found; changes of other settings are ``unavailable``."""

_LIFETIME = re.compile(r"(\d+)([mh])")
_UNITS = {"m": 60.0, "h": 3_600.0}
_PROJECT = re.compile(r"/projects/([^/]+)/")
_SIGNED = re.compile(r"Credential=([^/,\s]+)/")
_KEYS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
_ORGANISATIONS = ("openai-organization", "openai-project")


class CacheMinimum(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The smallest prefix, in tokens, that is cached for some models; ``named``: in words."""

    models: tuple[str, ...]
    tokens: int
    named: str = ""
    source: str
    checked: str


class CacheRules(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How some models' prompts are cached; ``prompt_caches.toml`` explains each field."""

    vendor: str
    models: tuple[str, ...]
    providers: tuple[str, ...] = ("*",)
    how: Literal["breakpoints", "automatic", "both", "none"]
    minimum: tuple[CacheMinimum, ...] = ()
    step: int = 1
    lifetime: str = "1h"
    lifetimes: tuple[str, ...] = ()
    best_effort: bool = False
    marks: int = 0
    look_back: int = 0
    writes: bool = False
    default_level: str | None = None
    renders: Mapping[Setting, Layer] = {}
    strips_thinking: tuple[str, ...] = ()
    source: str
    checked: str

    def find_minimum(self, model: str) -> int:
        """Return the smallest prefix that is cached for a model."""
        return next((row.tokens for row in self.minimum if _matches(row.models, model)), 0)

    def strips(self, model: str) -> bool:
        """Return whether earlier thinking is left out of a model's prompt at each user's turn."""
        return _matches(self.strips_thinking, model)

    def find_seconds(self, lifetime: str | None) -> float:
        """Return how long an entry lives; an unknown lifetime is the usual one."""
        known = lifetime if lifetime in self.lifetimes else self.lifetime
        return parse_lifetime(known or self.lifetime)


class CacheDiagnosis(Struct, frozen=True):
    """The id of the answer to a request, and of the one whose prefix it is compared with."""

    answer_id: str
    previous_id: str | None = None


class PromptPrefix(Struct, frozen=True, kw_only=True):
    """What the cached prefix of a request depends on besides the text of its prompt.

    ``account``: who may read what this request writes. ``settings``: by name, as the service
    understands them; an explicit default is what no value means. ``updates``: settings inside the
    conversation, by the number of their message. ``end``: a breakpoint at the end of the prompt.
    ``explicit``: only the caller's breakpoints count. ``lifetime``: what the request asks for.
    ``mark_field``: a breakpoint in a part or tool that is known only as JSON. ``diagnosis``: the
    answer is to say why the prefix of an earlier request was not found.
    """

    rules: CacheRules
    account: str = ""
    settings: Mapping[Setting, Json] = {}
    updates: Mapping[int, Json] = {}
    end: CacheBreakpoint | None = None
    explicit: bool = False
    lifetime: str | None = None
    mark_field: str = ""
    diagnosis: CacheDiagnosis | None = None


class CacheReport(Struct, frozen=True):
    """What an answer says of the prompt cache besides its usage.

    ``writes``: written tokens by lifetime. ``diagnosed``: whether the answer explains misses;
    ``miss``: why the prefix of the earlier request was not found, if it was not, and ``missed``:
    the tokens that were lost with it.
    """

    writes: Mapping[str, int] = {}
    diagnosed: bool = False
    miss: MissReason | None = None
    missed: int = 0


def parse_lifetime(text: str) -> float:
    """Return the seconds of a lifetime such as 5m or 1h."""
    found = _LIFETIME.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a lifetime such as 5m or 1h")
    return int(found[1]) * _UNITS[found[2]]


@cache
def load_cache_rules() -> tuple[CacheRules, ...]:
    """Load all rows; the first that matches a provider and a model is theirs."""
    return load_table(__package__, "prompt_caches.toml", _Table).cache


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    cache: tuple[CacheRules, ...]


@lru_cache(maxsize=1_024)
def find_cache_rules(provider: str, model: str) -> CacheRules:
    """Return how a provider caches the prompts of a model."""
    return next(
        row
        for row in load_cache_rules()
        if _matches(row.providers, provider) and _matches(row.models, model)
    )


def _matches(patterns: tuple[str, ...], name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def find_account(http: HttpRequest) -> str:
    """Return what tells accounts apart: the project in the address, else the key."""
    if (project := _PROJECT.search(http.url)) is not None:
        return project[1]
    keys = [http.headers.get(name, "") for name in (*_KEYS, *_ORGANISATIONS)]
    if (signed := _SIGNED.search(keys[0])) is not None:
        keys[0] = signed[1]
    return "\n".join((*keys, *parse_qs(urlsplit(http.url).query).get("key", ())))


def render_request(request: Request) -> dict[Setting, Json]:
    """Return the settings of a prompt that canon has."""
    parts = [part for message in request.messages for part in _iter_parts(message)]
    choice = request.tool_choice
    return {
        "format": None if request.output is None else request.output.schema or "json",
        "tool_choice": None if choice is None else [choice.mode, choice.name, choice.parallel],
        "images": any(isinstance(part, Image) for part in parts),
        "citations": any(getattr(part, "cited", False) for part in parts),
    }


def describe_level(intent: Intent, default: str | None = None) -> Json:
    """Return a requested level as it is rendered: the default if the request has none."""
    if intent.kind != "unset":
        return [intent.kind, intent.level, intent.tokens]
    if default is None:
        return ["unset", None, None]
    return ["off", None, None] if default == "none" else ["level", default, None]


def _iter_parts(message: Message) -> list[Part]:
    inside = (part.content for part in message.parts if isinstance(part, ToolResult))
    return [*message.parts, *(part for content in inside for part in content)]
