"""The emulated service's checks; their order is behaviour: the first fault is the one reported."""

from typing import Any

import msgspec
from msgspec import Struct

from pondero.canon import HttpRequest, Json
from pondero.dialects.dialect import AcceptedRequest, Rejected

from . import parse
from .address import check_address
from .errors import flatten_error, reject, reject_invalid, reject_parameter, reject_value
from .input.item_pairs import check_pairs, find_hosted_calls
from .models import Model, deployment_of, model_of, table
from .parse import ENCRYPTED, Context
from .signatures import make_signer
from .types import INCLUDABLE, TOOLS, Create, Reasoning

_UNVERIFIED = "org-unverified"
_NO_INPUT = (
    "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided."
)
_UNVERIFIED_TEXT = (
    "Your organization must be verified to generate reasoning summaries. Please go to: "
    "https://platform.openai.com/settings/organization/general and click on Verify Organization."
)


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
        # xAI, errors: two plain strings (rig recordings xai/response_identity, 2026-11-15)
        raise Rejected(flatten_error(rejection.response, model=raw.get("model"))) from None


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
        # OpenAI, conversation state: unknown id (public clients, 2026-11-16)
        message = f"Previous response with id '{create.previous_response_id}' not found."
        reject(message, param="previous_response_id", code="previous_response_not_found")
    if create.input is None or create.input == []:
        # OpenAI, create a response: one of four inputs is required (public clients, 2026-11-16)
        reject(_NO_INPUT, param=None)
    for item in create.input if isinstance(create.input, list) else ():
        if item.get("type") == "item_reference":
            # OpenAI, conversation state: 404 for an item that is not stored (vercel/ai#7543)
            message = f"Item with id '{item.get('id')}' not found."
            reject(message, param="input", status=404)


def _check_updates(items: list[Json], model: Model) -> None:
    if not model.updates and any(item.get("type") == "configuration_update" for item in items):
        # OpenAI, reasoning: configuration_update is for GPT-6 (openai 3.49.0 types, 2026-11-10)
        reject_parameter("configuration_update")


def _check_include(create: Create) -> None:
    for number, name in enumerate(create.include or ()):
        if name not in INCLUDABLE:
            # OpenAI, create a response: the words of include (openai 3.49.0 types, 2026-11-10)
            reject_invalid(name, INCLUDABLE, param=f"include[{number}]")


def _check_tools(create: Create, provider: str) -> None:
    if provider not in table():
        return
    known = (*TOOLS, *deployment_of(provider).tools)
    for number, tool in enumerate(create.tools or ()):
        kind = tool.get("type")
        if isinstance(kind, str) and kind not in known:
            # OpenAI, tools: the types of openai 3.49.0 (2026-11-10); xAI adds its own (recordings)
            reject_invalid(kind, known, param=f"tools[{number}].type")


def _check_verified(create: Create, http: HttpRequest) -> None:
    asked = create.reasoning
    if asked is None or not (asked.summary or asked.generate_summary):
        return
    if http.headers.get("openai-organization") == _UNVERIFIED:
        # OpenAI, reasoning summaries: only for verified organisations (windmill#10147, 2026-11-15)
        reject(_UNVERIFIED_TEXT, param="reasoning.summary", code="unsupported_value")


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
            # OpenAI, reasoning effort: each model has its own words (opencode#4451, 2026-11-15)
            reject_value(effort, create.model, model.efforts, param="reasoning.effort")
    if summary == "concise" and not model.concise:
        # OpenAI, reasoning summaries: concise only after gpt-5 (openai 3.49.0 types, 2026-11-10)
        reject_value(summary, create.model, ("auto", "detailed"), param="reasoning.summary")
    if asked.context == "all_turns" and not model.all_turns:
        # OpenAI, reasoning context: all_turns from GPT-5.4 (pydantic-ai 2.66.0, 2026-11-15)
        words = ("auto", "current_turn")
        reject_value(asked.context, create.model, words, param="reasoning.context")
    if asked.mode == "pro" and not model.pro:
        # OpenAI, reasoning mode: pro on GPT-5.6 and GPT-6 (pydantic-ai 2.66.0, 2026-11-15)
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
            # OpenAI, reasoning: none on other models (public clients, 2026-11-16)
            reject_parameter(f"reasoning.{name}")
    if sealed and not model.always:
        # OpenAI, include: only models that think (public clients, 2026-11-16)
        reject("Encrypted content is not supported with this model.", param="include")
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
                # OpenAI, sampling: none while it thinks
                # (vercel/ai recording reasoning-model-temperature-error, 2026-11-15)
                reject_parameter(name)
        if create.top_logprobs:
            # maruel/genai recording gpt-5.6-luna_thinking/GenStream-TopLogprobs, 2026-11-15
            message = "logprobs are not supported with reasoning models."
            reject(message, param="top_logprobs", code="unsupported_parameter")
    cap = create.max_output_tokens
    if cap is not None and model.max_output is not None and cap > model.max_output:
        # OpenAI, models: maximum output (litellm 1.108.4 map, 2026-11-15; text as for the minimum)
        message = (
            "Invalid 'max_output_tokens': integer above maximum value. "
            f"Expected a value <= {model.max_output}, but got {cap} instead."
        )
        reject(message, param="max_output_tokens", code="integer_above_max_value")
    if model.hosted and any(tool.get("type") not in model.hosted for tool in create.tools or ()):
        # OpenAI, deep research: hosted tools only (req_llm o4_mini_deep_research, 2025-10-14)
        quoted = ", ".join(f"'{each}'" for each in model.hosted[:-1])
        message = f"Deep research models only support the {quoted}, and '{model.hosted[-1]}' tools."
        reject(message, param="tools")
