"""What the cached prefix of a request depends on (docs/wires/in-band.md)."""

from pondero.canon import HttpRequest, Json, Request
from pondero.dialects import claude
from pondero.dialects.prompt_cache import (
    CacheDiagnosis,
    CacheRules,
    PromptPrefix,
    find_account,
    find_cache_rules,
    render_request,
)

from . import types
from .checks.facts import RequestFacts
from .content import read_cache
from .reply import make_message_id

_DIAGNOSIS = "cache-diagnosis-"
_SEARCH = "web_search_"


def make_prefix(
    http: HttpRequest, provider: str, asked: RequestFacts, request: Request, seed: bytes
) -> PromptPrefix:
    """Return the settings of a request, those inside its conversation, and its breakpoints."""
    body = asked.body
    rules = find_cache_rules(provider, body.model)
    updates = {
        number: message.output_config.effort
        for number, message in enumerate(body.messages)
        if message.output_config is not None and message.output_config.effort is not None
    }
    return PromptPrefix(
        rules=rules,
        account=find_account(http),
        settings={
            **render_request(request),
            "level": _describe_level(body, asked, rules),
            "speed": body.speed or "standard",
            "citations": _has_citations(asked.raw["messages"]),
            "web_search": _find_searches(asked.raw.get("tools")),
        },
        updates=updates,
        end=read_cache(body.cache_control),
        mark_field="cache_control",
        diagnosis=_read_diagnosis(asked, seed),
    )


def _describe_level(body: types.Body, asked: RequestFacts, rules: CacheRules) -> Json:
    thinking = body.thinking
    kind = None if thinking is None else str(thinking.__struct_config__.tag)
    budget = thinking.budget_tokens if isinstance(thinking, types.Enabled) else None
    effort = body.output_config.effort if body.output_config is not None else None
    thinks = asked.row.unasked == "on"
    return claude.describe_thinking(kind, budget, effort, thinks=thinks, rules=rules)


def _has_citations(messages: Json) -> bool:
    blocks = (block for message in messages for block in message["content"])
    given = (block.get("citations") for block in blocks if isinstance(block, dict))
    return any(isinstance(each, dict) and each.get("enabled") is True for each in given)


def _find_searches(tools: Json) -> list[str]:
    return [
        str(tool.get("name"))
        for tool in tools or ()
        if isinstance(tool, dict) and str(tool.get("type")).startswith(_SEARCH)
    ]


def _read_diagnosis(asked: RequestFacts, seed: bytes) -> CacheDiagnosis | None:
    if not asked.has_beta(_DIAGNOSIS) or asked.platform != "anthropic":
        return None
    given = asked.body.diagnostics
    previous = given.get("previous_message_id") if isinstance(given, dict) else None
    return CacheDiagnosis(make_message_id(seed), previous if isinstance(previous, str) else None)
