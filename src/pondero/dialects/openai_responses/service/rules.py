"""The emulated service's checks; their order is behaviour: the first fault is the one reported."""

import msgspec

from pondero.canon import HttpRequest, Json, Request
from pondero.dialects.dialect import AcceptedRequest, Rejected
from pondero.dialects.prompt_cache import (
    PromptPrefix,
    find_account,
    find_cache_rules,
    render_request,
)

from . import parse
from .address import check_address
from .checks import fields, media, schemas, state, tools, updates
from .checks.field_types import check_field_types
from .checks.thinking import ThinkingPlan, plan_thinking
from .errors import reject, reject_invalid, restate
from .input.item_pairs import (
    check_adjacent,
    check_names,
    check_nulls,
    check_pairs,
    find_hosted_calls,
)
from .models import ANY, Deployment, Model, deployment_of, model_of
from .parse import Context
from .signatures import make_signer
from .types import INCLUDABLE, CacheOptions, Create

_UNVERIFIED = "org-unverified"
_LOGPROBS = "message.output_text.logprobs"


def accept(http: HttpRequest, provider: str) -> AcceptedRequest[Context]:
    """Read a request, or raise Rejected as the provider of this name would."""
    raw: dict[str, Json] = {}
    deployment = deployment_of(provider)
    try:
        check_address(http, keyless=deployment.keyless)
        raw = parse.json_of(http.body)
        return _accept(http, raw, provider, deployment)
    except Rejected as rejection:
        raise restate(rejection, deployment.errors, model=raw.get("model")) from None


def _accept(
    http: HttpRequest, raw: dict[str, Json], provider: str, deployment: Deployment
) -> AcceptedRequest[Context]:
    fields.check_required_values(raw, deployment)
    body = fields.take_known(raw, deployment)
    create = parse.body(body)
    check_field_types(body)
    fields.check_limits(create, deployment)
    model = model_of(create.model, provider=provider) if "model" in raw else ANY
    _check_include(create)
    items = parse.items_of(create)
    updates.check_known(items, deployment)
    messages = parse.messages_of(create, items, route=provider)
    state.check_state(create)
    _check_pairs(create, items, deployment)
    efforts = updates.check_updates(create, items, model, deployment)
    thought = plan_thinking(create, model, efforts)
    _check_sampling(create, raw, model, thought)
    media.check_verbosity(create, model)
    media.check_images(items, model, deployment)
    _check_verified(create, http)
    tools.check_types(create, deployment)
    tools.check_count(create, model, deployment)
    tools.check_model(create, model, effort=thought.effort)
    request = parse.canon(create, body, messages)
    if deployment.strict:
        schemas.check_schemas(create)
        _check_json(create, items)
    state.check_background(create)
    context = msgspec.structs.replace(
        parse.context_of(create, body),
        reasoning=thought.echo(),
        sealed=thought.sealed,
        phases=model.phases,
        preliminary=True,
        emulated=True,
        previous=http.headers.get(parse.RESUMED_HEADER),
        conversation=http.headers.get(parse.CONVERSATION_HEADER),
        namespaces={},  # no recording shows what the service makes of them
    )
    seed = msgspec.json.encode(raw)
    asked = create.reasoning.effort if create.reasoning else None
    return AcceptedRequest(
        request=request,
        intent=parse.intent_of(parse.last_effort_update(items) or asked),
        thinks=thought.thinks,
        shown=thought.thinks and thought.summary is not None,
        context=context,
        sign=make_signer(seed, model=create.model, stored=context.stored),
        seed=seed,
        prefix=_make_prefix(http, provider, create, request, thought),
    )


def _make_prefix(
    http: HttpRequest, provider: str, create: Create, request: Request, thought: ThinkingPlan
) -> PromptPrefix:
    """Return what the cached prefix depends on; updates are items of the conversation."""
    options = create.prompt_cache_options or CacheOptions()
    retention = create.prompt_cache_retention
    return PromptPrefix(
        rules=find_cache_rules(provider, create.model),
        account=find_account(http),
        settings={**render_request(request), "level": [thought.opening, thought.mode]},
        explicit=options.mode == "explicit",
        lifetime=options.ttl or (None if retention == "in_memory" else retention),
    )


def _check_include(create: Create) -> None:
    for number, name in enumerate(create.include or ()):
        if name not in INCLUDABLE:
            reject_invalid(name, INCLUDABLE, param=f"include[{number}]")


def _check_pairs(create: Create, items: list[Json], deployment: Deployment) -> None:
    if deployment.adjacent_calls:
        check_adjacent(items)
    if deployment.strict:
        check_names(items)
    if not deployment.null_content:
        check_nulls(items)
    hosted = deployment.runs_custom
    done = find_hosted_calls(items, create.tools or []) if hosted else frozenset[str]()
    check_pairs(items, store=create.store is not False, done=done)


def _check_verified(create: Create, http: HttpRequest) -> None:
    asked = create.reasoning
    if asked is None or not (asked.summary or asked.generate_summary):
        return
    if http.headers.get("openai-organization") == _UNVERIFIED:
        reject("unverified", param="reasoning.summary")


def _check_sampling(
    create: Create, raw: dict[str, Json], model: Model, thought: ThinkingPlan
) -> None:
    if thought.thinks and not model.sampling:
        for name in fields.SAMPLING:
            if raw.get(name) is not None:
                reject("unsupported_parameter", param=name)
        if _LOGPROBS in (create.include or ()):
            reject("logprobs", param="include")
        if create.top_logprobs:
            reject("logprobs", param="top_logprobs")
    cap = create.max_output_tokens
    if cap is not None and model.max_output is not None and cap > model.max_output:
        reject("integer_above", param="max_output_tokens", bound=model.max_output, value=cap)
    if create.prompt_cache_retention == "in_memory" and model.caches_a_day:
        reject("cache_retention", param="prompt_cache_retention")


def _check_json(create: Create, items: list[Json]) -> None:
    asked = create.text.format if create.text is not None else None
    if asked is None or asked.get("type") != "json_object" or create.prompt is not None:
        return
    if b"json" not in msgspec.json.encode(items).lower():
        reject("json_word", param="input")
