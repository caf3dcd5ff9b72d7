"""Every check of the emulated service, in its own order and words; the emulator calls ``accept``.

The order is behaviour: a request with two faults gets the refusal that comes first here.
"""

from typing import Any

import msgspec
from msgspec import Struct

from pondero.canon import HttpRequest, Json
from pondero.dialects.dialect import AcceptedRequest, Rejected

from . import parse
from .address import check_address
from .errors import flat, invalid, refuse, reject_parameter, reject_value
from .input.item_pairs import check as check_pairing
from .input.item_pairs import run_here
from .models import Model, deployment_of, model_of, table
from .parse import SEALED, Context
from .signatures import sealer
from .types import INCLUDABLE, TOOLS, Create, Reasoning

_UNVERIFIED = "org-unverified"
_NO_INPUT = (
    "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided."
)
_UNVERIFIED_NO = (
    "Your organization must be verified to generate reasoning summaries. Please go to: "
    "https://platform.openai.com/settings/organization/general and click on Verify Organization."
)


def accept(http: HttpRequest, provider: str) -> AcceptedRequest[Context]:
    """Return what was asked, or raise Rejected as the provider of this name would."""
    raw: dict[str, Json] = {}
    try:
        check_address(http)
        raw = parse.json_of(http.body)
        return _accepted(http, raw, provider)
    except Rejected as refusal:
        if not deployment_of(provider).flat:
            raise
        raise Rejected(flat(refusal.response, model=raw.get("model"))) from None


def _accepted(http: HttpRequest, raw: dict[str, Json], provider: str) -> AcceptedRequest[Context]:
    create = parse.body(raw)
    model = model_of(create.model, provider=provider)
    _check_include(create)
    _check_input(create)
    items = parse.items_of(create)
    messages = parse.messages_of(create, items, route=provider)
    runs_custom = deployment_of(provider).runs_custom
    done = run_here(items, create.tools or []) if runs_custom else frozenset[str]()
    check_pairing(items, store=create.store is not False, done=done)
    _check_updates(items, model)
    thought = _think(create, model, parse.last_effort_update(items))
    _check_model(create, model, thought)
    _check_verified(create, http)
    _check_tools(create, provider)
    request = parse.canon(create, raw, messages)
    context = msgspec.structs.replace(
        parse.context_of(create, raw),
        reasoning=thought.echo(),
        sealed=thought.sealed,
        phases=model.phases,
        preliminary=True,
        previous=http.headers.get(parse.RESUMED),
        namespaces={},  # no recording shows what the service makes of them
    )
    seed = msgspec.json.encode(raw)
    return AcceptedRequest(
        request=request,
        intent=parse.intent_of(create.reasoning.effort if create.reasoning else None),
        thinks=thought.thinks,
        shown=thought.thinks and thought.summary is not None,
        context=context,
        sign=sealer(seed, model=create.model, stored=context.stored),
        seed=seed,
        caches="always",
    )


# -- the body --------------------------------------------------------------------------------------


def _check_input(create: Create) -> None:
    """Refuse an empty input, and one that refers to what is stored: nothing is stored here."""
    if create.previous_response_id is not None:
        message = f"Previous response with id '{create.previous_response_id}' not found."
        refuse(message, param="previous_response_id", code="previous_response_not_found")
    if create.input is None or create.input == []:
        refuse(_NO_INPUT, param=None)
    for item in create.input if isinstance(create.input, list) else ():
        if item.get("type") == "item_reference":
            message = f"Item with id '{item.get('id')}' not found."
            refuse(message, param="input", status=404)


def _check_updates(items: list[Json], model: Model) -> None:
    if not model.updates and any(item.get("type") == "configuration_update" for item in items):
        reject_parameter("configuration_update")


def _check_include(create: Create) -> None:
    for number, name in enumerate(create.include or ()):
        if name not in INCLUDABLE:
            invalid(name, INCLUDABLE, param=f"include[{number}]")


def _check_tools(create: Create, provider: str) -> None:
    """Refuse types of tools that the deployment does not have, where its own are known."""
    if provider not in table():
        return
    known = (*TOOLS, *deployment_of(provider).tools)
    for number, tool in enumerate(create.tools or ()):
        kind = tool.get("type")
        if isinstance(kind, str) and kind not in known:
            invalid(kind, known, param=f"tools[{number}].type")


def _check_verified(create: Create, http: HttpRequest) -> None:
    """Refuse summaries to an organisation that says it is not verified."""
    asked = create.reasoning
    if asked is None or not (asked.summary or asked.generate_summary):
        return
    if http.headers.get("openai-organization") == _UNVERIFIED:
        refuse(_UNVERIFIED_NO, param="reasoning.summary", code="unsupported_value")


# -- what the model takes --------------------------------------------------------------------------


class _Thought(Struct, frozen=True):
    """How the model will think about this request; the answer repeats it as ``reasoning``."""

    effort: str | None
    summary: str | None
    context: str | None
    mode: str | None
    thinks: bool
    sealed: bool

    def echo(self) -> dict[str, Any]:
        """Return the answer's ``reasoning``."""
        echo = {"effort": self.effort, "summary": self.summary, "context": self.context}
        return {**echo, "mode": self.mode} if self.mode else echo


def _think(create: Create, model: Model, updated: str | None) -> _Thought:
    """Return how the model will think, or refuse what it does not take.

    ``last_effort_update`` is the effort of a ``configuration_update``, which replaces the request's
    own.
    """
    asked = create.reasoning or Reasoning()
    summary = asked.summary or asked.generate_summary
    sealed = SEALED in (create.include or ())
    if not model.efforts:
        return _unasked(create, model, sealed=sealed)
    for effort in (asked.effort, updated):
        if effort is not None and effort not in model.efforts:
            reject_value(effort, create.model, model.efforts, param="reasoning.effort")
    if summary == "concise" and not model.concise:
        reject_value(summary, create.model, ("auto", "detailed"), param="reasoning.summary")
    if asked.context == "all_turns" and not model.all_turns:
        words = ("auto", "current_turn")
        reject_value(asked.context, create.model, words, param="reasoning.context")
    if asked.mode == "pro" and not model.pro:
        reject_value(asked.mode, create.model, ("standard",), param="reasoning.mode")
    context = asked.context if asked.context != "auto" else None
    effort = updated or asked.effort or model.default
    return _Thought(
        effort=effort,
        summary="detailed" if summary == "auto" else summary or model.summary,
        context=context or model.context,
        mode=asked.mode or "standard",
        thinks=effort != "none",
        sealed=model.sealed or sealed,
    )


def _unasked(create: Create, model: Model, *, sealed: bool) -> _Thought:
    """Return how a model without efforts thinks: always or never."""
    asked = create.reasoning or Reasoning()
    said = (
        ("effort", asked.effort),
        ("summary", asked.summary or asked.generate_summary),
        ("context", asked.context),
        ("mode", asked.mode),
    )
    for name, value in said:
        if value is not None:
            reject_parameter(f"reasoning.{name}")
    if sealed and not model.always:
        refuse("Encrypted content is not supported with this model.", param="include")
    return _Thought(
        effort=None,
        summary=model.summary,
        context=None,
        mode=None,
        thinks=model.always,
        sealed=sealed,
    )


def _check_model(create: Create, model: Model, thought: _Thought) -> None:
    """Refuse parameters that this model does not take, or not while it thinks."""
    if thought.thinks and not model.sampling:
        for name in ("temperature", "top_p"):
            if getattr(create, name) is not None:
                reject_parameter(name)
        if create.top_logprobs:
            message = "logprobs are not supported with reasoning models."
            refuse(message, param="top_logprobs", code="unsupported_parameter")
    cap = create.max_output_tokens
    if cap is not None and model.max_output is not None and cap > model.max_output:
        message = (
            "Invalid 'max_output_tokens': integer above maximum value. "
            f"Expected a value <= {model.max_output}, but got {cap} instead."
        )
        refuse(message, param="max_output_tokens", code="integer_above_max_value")
    if model.hosted and any(tool.get("type") not in model.hosted for tool in create.tools or ()):
        quoted = ", ".join(f"'{each}'" for each in model.hosted[:-1])
        message = f"Deep research models only support the {quoted}, and '{model.hosted[-1]}' tools."
        refuse(message, param="tools")
