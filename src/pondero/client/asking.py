"""One question made ready: planned, fitted to who will read it, addressed and encoded."""

from collections.abc import Iterable, Mapping
from time import time
from typing import Any

import msgspec
from msgspec import Struct

from ..canon import Message, Request
from ..catalog import Entry
from ..exchange import Exchange, Retry, Timeouts, compose, destination, insist
from ..handoff import Manifest, Refusal, handoff
from ..thinking import OFF, Adjustment, Asked, Plan, Policy
from .dial import PolicyLike, asked_of, planned, policy_of, warn
from .keys import key_of, url_of
from .options import Options, Prompt, check, choice_of, messages_of, output_of, system_of
from .refusals import heeded, noted, refused_by, seals
from .tools import Toolbox


class Settings(Struct, frozen=True):
    """What a client brings to every question it asks. ``keys`` and ``urls``: by provider."""

    policy: PolicyLike = None
    retry: Retry = Retry()
    timeouts: Timeouts = Timeouts()
    keys: Mapping[str, str] = {}
    urls: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return f"Settings(policy={self.policy!r}, retry={self.retry!r}, timeouts={self.timeouts!r})"


class Question(Struct, frozen=True):
    """An exchange to be had, and what the handoff did to the conversation for it."""

    exchange: Exchange
    manifest: Manifest
    timeouts: Timeouts
    policy: Policy


def question(
    model: str,
    prompt: Prompt,
    thinking: object,
    settings: Settings,
    options: Options,
    *,
    online: bool,
    refusals: Iterable[Refusal] = (),
) -> Question:
    """Return the question; nothing has been sent yet. ``online``: it needs a key of your own.

    ``refusals`` are what was refused before, by whomever; under a strict policy none counts.
    """
    check(options)
    policy = policy_of(options.get("policy", settings.policy))
    messages = messages_of(prompt)
    tools = tuple(Toolbox(options.get("tools") or ()).tools)
    choice = choice_of(options.get("tool_choice"), tools)
    asked = asked_of(
        options.get("max_tokens"),
        options.get("temperature"),
        options.get("top_p"),
        options.get("top_k"),
        tools=bool(tools),
        tool_choice=(choice.name or choice.mode) if choice else "auto",
        context=options.get("context"),
    )
    effort = options.get("thinking_effort")
    entry, plan = planned(model, thinking, effort, asked=asked, policy=policy)
    said, repairs = plan.adjustments, policy.unsupported != "strict"
    known = refused_by(entry, refusals) if repairs else ()
    view = handoff(messages, destination(entry, policy, refused=seals(known)))
    if view.unthought_loop and _must_begin_thinking(entry, plan):
        plan = _unthinking(model, plan, asked, policy)
    plan = noted(plan, view.manifest)
    request = _request(entry, view.messages, options, tools=tools, tool_choice=choice)
    provider = entry.provider
    exchange = compose(
        entry,
        request,
        plan,
        url=url_of(provider, settings.urls, needed=online),
        key=key_of(provider, settings.keys, needed=online),
        at=time(),
        repairs=repairs,
    )
    exchange = heeded(exchange, known)
    _say(entry, exchange.plan, said, policy)
    return Question(exchange, view.manifest, _timeouts(settings.timeouts, request), policy)


def _say(entry: Entry, plan: Plan, said: tuple[Adjustment, ...], policy: Policy) -> None:
    """Raise for, or warn of, what the conversation added to what the plan had said before."""
    notes = tuple(note for note in plan.adjustments if note not in said)
    if policy.unsupported == "strict":
        insist(entry, notes)
    elif policy.unsupported == "warn":
        warn(plan, notes)


def say_repairs(asked: Question, plan: Plan) -> None:
    """Warn of what was repaired on the way, where the policy wants warnings."""
    if asked.policy.unsupported == "warn":
        warn(plan, plan.adjustments[len(asked.exchange.plan.adjustments) :])


def _request(
    entry: Entry, messages: tuple[Message, ...], options: Options, **beside: Any
) -> Request:
    stop = options.get("stop") or ()
    return Request(
        model=entry.model,
        messages=messages,
        system=system_of(options.get("system")),
        output=output_of(options.get("output")),
        max_tokens=options.get("max_tokens"),
        temperature=options.get("temperature"),
        top_p=options.get("top_p"),
        top_k=options.get("top_k"),
        stop=(stop,) if isinstance(stop, str) else tuple(stop),
        stream=options.get("stream", True),
        extras=options.get("extras"),
        **beside,
    )


def _timeouts(timeouts: Timeouts, request: Request) -> Timeouts:
    """Return the timeouts; an answer in one piece has its first byte when it is done."""
    if request.stream:
        return timeouts
    longest = max(timeouts.first_byte, timeouts.between_bytes)
    return msgspec.structs.replace(timeouts, first_byte=longest)


def _must_begin_thinking(entry: Entry, plan: Plan) -> bool:
    """Return whether this model, told to think so much, wants its tool loops begun with it."""
    facts = entry.capability
    return plan.budget is not None and facts.off and facts.replay in ("tools", "required")


def _unthinking(model: str, plan: Plan, asked: Asked, policy: Policy) -> Plan:
    without = planned(model, OFF, None, asked=asked, policy=policy.but(unsupported="adjust"))[1]
    why = "a tool loop is open that was begun without thinking; this model thinks again after it"
    note = Adjustment("open_tool_loop", "level", plan.asked, "off", why)
    return msgspec.structs.replace(
        without, asked=plan.asked, adjustments=(*without.adjustments, note)
    )
