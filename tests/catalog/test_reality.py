"""The catalog against real exchanges: what a service took, refused, and did unasked."""

import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import msgspec
from tests.capabilities import explain_rejection

from pondero.catalog import Lookup, ModelEntry, load_shipped
from pondero.thinking import ReadThinking, read_thinking

# Who answered, as the recordings name it, to the provider of ours that speaks that wire.
_PROVIDERS = {
    ("openai-chat", "openai"): "openai-chat",
    ("openai-chat", "azure"): "azure-chat",
    ("anthropic", "azure"): "azure-anthropic",
    ("anthropic", "vertex"): "vertex-anthropic",
    ("openai-responses", "xai"): "xai-responses",
    ("openai-compat", "alibaba"): "dashscope",
}
_ABOUT_THINKING = ("thinking", "reasoning", "effort", "budget")
_EXPLAINED = tomllib.loads((Path(__file__).parent / "explained.toml").read_text("utf-8"))


def _exchanges(folder):
    decoder = msgspec.json.Decoder()
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            exchange = decoder.decode(line)
            request = exchange["request"]
            if not request or not isinstance(request["body"], dict) or not exchange["model"]:
                continue
            if not {"count_tokens", "models"} & set(exchange["kind"]):
                yield exchange


def _entry(finder: Lookup, exchange) -> ModelEntry | None:
    who = exchange["dialect"], exchange["provider"]
    provider = _PROVIDERS.get(who, exchange["provider"])
    if provider not in finder.catalog.providers:
        return None
    if " " in exchange["model"]:  # no name: we reject it, as the service did
        assert exchange["response"]["status"] >= 400
        return None
    return finder.entry(f"{provider}:{exchange['model']}")


def _reading(entry: ModelEntry, body) -> ReadThinking:
    """Read the control in whichever of the provider's styles it was written."""
    styles = (entry.placement, *entry.provider.placement.values())
    readings = [read_thinking(body, style, entry.provider.parameters) for style in styles]
    return next((found for found in readings if found.intent.kind != "unset"), readings[0])


def _explained(kind: str, entry: ModelEntry) -> bool:
    return any(
        row["kind"] == kind
        and row["provider"] == entry.provider.name
        and entry.model.lower().startswith(row["model"].lower())
        for row in _EXPLAINED["contradiction"]
    )


def _message(exchange) -> str:
    return str(exchange["response"].get("body", exchange["response"].get("stream"))).lower()


def test_what_a_service_took_the_catalog_takes(recordings):
    finder, contradictions, checked = Lookup(load_shipped()), Counter(), 0
    for exchange in _exchanges(recordings):
        entry = _entry(finder, exchange)
        if "knob" not in exchange["kind"] or not entry or entry.family == "unknown":
            continue
        if exchange["response"]["status"] >= 300 or "error" in exchange["kind"]:
            continue
        checked += 1
        why = explain_rejection(
            _reading(entry, exchange["request"]["body"]).intent, entry.capability
        )
        if why and not _explained("taken", entry):
            contradictions[f"{entry.id} took it, we say {why}"] += 1
    assert not contradictions
    assert checked


def test_what_a_service_refused_about_thinking_the_catalog_refuses(recordings):
    finder, contradictions = Lookup(load_shipped()), Counter()
    for exchange in _exchanges(recordings):
        entry = _entry(finder, exchange)
        if "knob" not in exchange["kind"] or not entry or exchange["response"]["status"] != 400:
            continue
        if not any(word in _message(exchange) for word in _ABOUT_THINKING):
            continue
        intent = _reading(entry, exchange["request"]["body"]).intent
        if not explain_rejection(intent, entry.capability) and not _explained("refused", entry):
            contradictions[f"{entry.id}: {_message(exchange)[:200]}"] += 1
    assert not contradictions


def test_what_a_model_did_unasked_agrees_with_its_row(recordings):
    finder, seen = Lookup(load_shipped()), defaultdict(Counter)
    for exchange in _exchanges(recordings):
        entry = _entry(finder, exchange)
        if not entry or entry.family == "unknown" or exchange["response"]["status"] >= 300:
            continue
        if _reading(entry, exchange["request"]["body"]).intent.kind == "unset":
            seen[entry.id].update(["answers", *(_SIGNS & set(exchange["kind"]))])
    contradictions = [
        f"{model} is said to be {finder.entry(model).capability.default}, and did {dict(did)}"
        for model, did in seen.items()
        if _disagrees(finder.entry(model), did) and not _explained("unasked", finder.entry(model))
    ]
    assert not contradictions


_SIGNS = {"thinking", "thinking_tokens", "think_tags"}
_ENOUGH = 10  # a model may well skip thinking on a few easy prompts


def _disagrees(entry: ModelEntry, did: Counter[str]) -> bool:
    facts = entry.capability
    if facts.default == "off" or not facts.thinks:
        # Tags alone are an answer written that way, as claude-3-opus does with tools.
        return did["thinking"] > did["think_tags"] or did["thinking_tokens"] > 0
    uncertain = facts.default in ("dynamic", "unaudited", "minimal") or facts.shown == "never"
    return not uncertain and did["answers"] >= _ENOUGH and did.total() == did["answers"]


def test_a_row_that_is_called_recorded_has_recordings_that_are_as_new(recordings):
    finder, newest = Lookup(load_shipped()), defaultdict(str)
    for exchange in _exchanges(recordings):
        entry = _entry(finder, exchange)
        if entry and not entry.inferred:
            day = exchange["recorded"] or _TAKEN  # where no header told the day
            newest[entry.family] = max(newest[entry.family], day)
    rows = [family for group in finder.catalog.groups.values() for family in group.family]
    called = [row for row in rows if row.capability.evidence == "recorded"]
    assert [row.name for row in called if row.capability.checked > newest[row.name]] == []
    assert len(called) > 80


_TAKEN = "2026-08-22"  # when the youngest of the recordings' repositories was read
