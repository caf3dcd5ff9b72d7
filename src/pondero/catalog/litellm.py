"""Reads LiteLLM's price map as a second public list; keeps only models of the catalog."""

from collections.abc import Mapping
from typing import Any

from ..canon import decode_json
from .lookup import Lookup
from .public_list import ListedLimits, ListedModel, ListedProvider, PublicList

_WORDS = ("none", "minimal", "low", "xhigh", "max")


def read_litellm(
    text: bytes, lookup: Lookup, *, ours: Mapping[str, str], name: str, date: str
) -> PublicList:
    """Return the catalog's models in the map; ``ours`` maps LiteLLM's providers to ours."""
    sold: dict[str, dict[str, ListedModel]] = {}
    for key, facts in sorted(decode_json(text, dict[str, dict[str, Any]]).items()):
        provider = ours.get(facts.get("litellm_provider", ""))
        if provider is None or facts.get("mode") not in ("chat", "responses"):
            continue
        model = key.partition("/")[2] or key
        entry = lookup.entry(f"{provider}:{model}")
        if not entry.inferred and lookup.names(entry, model):
            sold.setdefault(provider, {})[model] = _make_listed(facts)
    return PublicList(name, date, {each: ListedProvider(sold[each]) for each in sorted(sold)})


def _make_listed(facts: Mapping[str, Any]) -> ListedModel:
    context, output = facts.get("max_input_tokens"), facts.get("max_output_tokens")
    told = {word: facts.get(f"supports_{word}_reasoning_effort") for word in _WORDS}
    return ListedModel(
        reasoning=facts.get("supports_reasoning") is True,
        limit=ListedLimits(
            context if isinstance(context, int) else 0, output if isinstance(output, int) else 0
        ),
        takes={word: said for word, said in told.items() if isinstance(said, bool)},
    )
