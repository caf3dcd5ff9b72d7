"""Every check of the service, in its order; texts and statuses are in rejections.toml."""

import re

import msgspec

from pondero.canon import HttpRequest, Json
from pondero.dialects.dialect import AcceptedRequest
from pondero.dialects.prompt_cache import (
    PromptPrefix,
    describe_level,
    find_account,
    find_cache_rules,
    render_request,
)
from pondero.thinking import UNSET, Intent

from ..address import address_of, authorise
from ..models import table
from ..parse import Context, body, canon, context_of, intent_of, json_object, split_model
from ..signatures import make_signer
from . import config, conversation, media, thinking, tools
from .facts import RequestFacts


def accept(http: HttpRequest, provider: str) -> AcceptedRequest[Context]:
    """Return the request, or raise Rejected in the service's own words."""
    surface = table().surface(provider)
    address = address_of(http)
    if address is None:
        raise surface.rejection("no_address")
    authorise(http.headers, address.key, surface)
    name, raw = split_model(json_object(http.body, surface), address, surface)
    if re.search(r"[^\w.@-]", name):
        raise surface.rejection("bad_model")
    model = table().model(name, provider=provider)
    if model is None:
        raise surface.rejection(
            "no_model", model=name, version=address.version, method=address.method
        )
    read = body(raw, surface)
    asked = RequestFacts(
        request=read,
        name=name,
        model=model,
        surface=surface,
        provider=provider,
        size=len(http.body),
        streams=address.streams,
        counted=address.counts,
    )
    thinks = _check(asked)
    request = canon(read, model=name, stream=address.streams, provider=provider)
    intent = intent_of(read.generation_config.thinking_config)
    return AcceptedRequest(
        request=request,
        intent=intent,
        thinks=thinks,
        shown=bool(read.generation_config.thinking_config.include_thoughts),
        context=context_of(address),
        sign=make_signer(provider, name, signs=model.signs),
        seed=msgspec.json.encode(raw),
        prefix=PromptPrefix(
            rules=find_cache_rules(provider, name),
            account=find_account(http),
            settings={**render_request(request), "level": _describe_level(intent)},
        ),
    )


def _describe_level(intent: Intent) -> Json:
    """Return the level; thinking that is only to be shown does not change the prompt."""
    shown = intent.kind == "on" and intent.tokens is None
    return describe_level(UNSET if shown else intent)


def _check(asked: RequestFacts) -> bool:
    """Return whether the model will think; a count takes any piece, as Gemini CLI sends it."""
    conversation.check_contents(asked)
    media.check(asked)
    if not asked.counted:
        conversation.check_turns(asked)
    tools.check(asked)
    config.check(asked)
    thinks = thinking.check(asked)
    if not asked.counted:
        conversation.check_signatures(asked)
        conversation.check_length(asked)
    return thinks
