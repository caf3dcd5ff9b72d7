"""The emulated service's checks; their order is behaviour: the first fault is the one reported."""

from typing import Any

import msgspec
from msgspec import Struct

from pondero.canon import HttpRequest, Json
from pondero.dialects.dialect import AcceptedRequest, Rejected

from . import parse
from .address import check_address
from .errors import join_words, reject, reject_invalid, reject_value, restate_flat
from .input.item_pairs import check_pairs, find_hosted_calls
from .models import Model, deployment_of, model_of, table
from .parse import ENCRYPTED, Context
from .signatures import make_signer
from .types import INCLUDABLE, TOOLS, Create, Reasoning

_UNVERIFIED = "org-unverified"


def accept(http: HttpRequest, provider: str) -> AcceptedRequest[Context]:
    """Read a request, or raise Rejected as the provider of this name would."""
    raw: dict[str, Json] = {}
    try:
        check_address(http)
        raw = parse.json_of(http.body)
        return _accept(http, raw, provider)
    except Rejected as rejection:
        if not deployment_of(provider).flat:
            raise
        raise restate_flat(rejection, model=raw.get("model")) from None


def _accept(http: HttpRequest, raw: dict[str, Json], provider: str) -> AcceptedRequest[Context]:
    create = parse.body(raw)
    model = model_of(create.model, provider=provider)
    _check_include(create)
    _check_input(create)
    items = parse.items_of(create)
    messages = parse.messages_of(create, items, route=provider)
    runs_custom = deployment_of(provider).runs_custom
    done = find_hosted_calls(items, create.tools or []) if runs_custom else frozenset[str]()
    check_pairs(items, store=create.store is not False, done=done)
    _check_updates(items, model)
    update = parse.last_effort_update(items)
    thought = _plan_thinking(create, model, update)
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
        previous=http.headers.get(parse.RESUMED_HEADER),
        namespaces={},  # no recording shows what the service makes of them
    )
    seed = msgspec.json.encode(raw)
    return AcceptedRequest(
        request=request,
        intent=parse.intent_of(update or (create.reasoning.effort if create.reasoning else None)),
        thinks=thought.thinks,
        shown=thought.thinks and thought.summary is not None,
        context=context,
        sign=make_signer(seed, model=create.model, stored=context.stored),
        seed=seed,
        caches="always",
    )


def _check_input(create: Create) -> None:
    # The emulator has already resolved stored ids, so any that is left is unknown.
    if create.previous_response_id is not None:
        id = create.previous_response_id
        reject("unknown_previous", param="previous_response_id", id=id)
    if create.input is None or create.input == []:
        reject("no_input")
    for item in create.input if isinstance(create.input, list) else ():
        if item.get("type") == "item_reference":
            reject("unknown_item", param="input", id=item.get("id"))


def _check_updates(items: list[Json], model: Model) -> None:
    if not model.updates and any(item.get("type") == "configuration_update" for item in items):
        reject("unsupported_parameter", param="configuration_update")


def _check_include(create: Create) -> None:
    for number, name in enumerate(create.include or ()):
        if name not in INCLUDABLE:
            reject_invalid(name, INCLUDABLE, param=f"include[{number}]")


def _check_tools(create: Create, provider: str) -> None:
    if provider not in table():
        return
    known = (*TOOLS, *deployment_of(provider).tools)
    for number, tool in enumerate(create.tools or ()):
        kind = tool.get("type")
        if isinstance(kind, str) and kind not in known:
            reject_invalid(kind, known, param=f"tools[{number}].type")


def _check_verified(create: Create, http: HttpRequest) -> None:
    asked = create.reasoning
    if asked is None or not (asked.summary or asked.generate_summary):
        return
    if http.headers.get("openai-organization") == _UNVERIFIED:
        reject("unverified", param="reasoning.summary")


class _ThinkingPlan(Struct, frozen=True):
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


def _plan_thinking(create: Create, model: Model, updated: str | None) -> _ThinkingPlan:
    asked = create.reasoning or Reasoning()
    summary = asked.summary or asked.generate_summary
    sealed = ENCRYPTED in (create.include or ())
    if not model.efforts:
        return _plan_without_efforts(create, model, sealed=sealed)
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
    return _ThinkingPlan(
        effort=effort,
        summary="detailed" if summary == "auto" else summary or model.summary,
        context=context or model.context,
        mode=asked.mode or "standard",
        thinks=effort != "none",
        sealed=model.sealed or sealed,
    )


def _plan_without_efforts(create: Create, model: Model, *, sealed: bool) -> _ThinkingPlan:
    """Plan the thinking of a model without efforts: always or never."""
    asked = create.reasoning or Reasoning()
    said = (
        ("effort", asked.effort),
        ("summary", asked.summary or asked.generate_summary),
        ("context", asked.context),
        ("mode", asked.mode),
    )
    for name, value in said:
        if value is not None:
            reject("unsupported_parameter", param=f"reasoning.{name}")
    if sealed and not model.always:
        reject("encrypted_unsupported", param="include")
    return _ThinkingPlan(
        effort=None,
        summary=model.summary,
        context=None,
        mode=None,
        thinks=model.always,
        sealed=sealed,
    )


def _check_model(create: Create, model: Model, thought: _ThinkingPlan) -> None:
    if thought.thinks and not model.sampling:
        for name in ("temperature", "top_p"):
            if getattr(create, name) is not None:
                reject("unsupported_parameter", param=name)
        if create.top_logprobs:
            reject("logprobs", param="top_logprobs")
    cap = create.max_output_tokens
    if cap is not None and model.max_output is not None and cap > model.max_output:
        reject("integer_above", param="max_output_tokens", bound=model.max_output, value=cap)
    if model.hosted and any(tool.get("type") not in model.hosted for tool in create.tools or ()):
        reject("research_tools", param="tools", tools=join_words(model.hosted))
