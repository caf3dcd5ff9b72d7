"""Generate the tables of the documentation from the catalog and from the code.

``make docs`` writes them; a test compares. Text between ``<!-- NAME -->`` and ``<!-- /NAME -->``
is replaced in each file that has such marks.
"""

import json
import re
import runpy
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pondero
from pondero.catalog import (
    CatalogComparison,
    CatalogDifference,
    ExplainedDifference,
    ModelEntry,
    compare_lists,
    load_explained,
    load_shipped,
    provider_map,
    second_list,
    snapshot,
)
from pondero.client import load_catalog
from pondero.contract import SCENARIOS
from pondero.dialects import CacheRules, Endpoint, list_endpoints, load_cache_rules
from pondero.gateway import load_clients
from pondero.thinking import BENIGN, CHOICES, CODES, FIGURES, TOKENS, Plan, nearest_level

ROOT = Path(__file__).resolve().parent.parent
FILES = (
    "README.md",
    "docs/levels.md",
    "docs/referee.md",
    "docs/adjustments.md",
    "docs/architecture.md",
    "docs/catalog.md",
    "docs/contracts.md",
    "docs/disagreements.md",
    "docs/emulator.md",
    "docs/endpoints.md",
    "docs/from/programs.md",
    "docs/requirements.md",
    "docs/gateway.md",
    "docs/index.md",
    "docs/reference/cli.md",
    "docs/reference/config.md",
    "docs/reference/errors.md",
    "docs/reference/events.md",
    "docs/guides/cost.md",
    "docs/troubleshooting.md",
)
LEVELS = ("off", "low", "medium", "high", "xhigh", "max")
SHOWN = (
    "claude-opus-5",
    "claude-sonnet-4-5",
    "gpt-5",
    "gpt-5.5",
    "gemini-2.5-pro",
    "groq:openai/gpt-oss-120b",
    "deepseek:deepseek-v4-flash",
    "ollama:qwen3",
)
FEW = (
    "claude-opus-5",
    "claude-sonnet-4-5",
    "gpt-5.5",
    "gemini-2.5-pro",
    "groq:openai/gpt-oss-120b",
)


def said(plan: Plan) -> str:
    """Return what a plan sends, for one cell: a number of tokens, or a level."""
    star = "\\*" if plan.adjustments else ""
    if plan.budget is not None:
        return f"{plan.budget:,}{star}"
    return f"{plan.level or 'nothing'}{star}"


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def ladder(models: list[str]) -> str:
    """Return a table of models by level; a star marks an adjustment that the plan explains."""
    rows = [
        [f"`{model}`", *(said(pondero.plan(model, level)) for level in LEVELS)] for model in models
    ]
    return table(["model", *LEVELS], rows)


def providers() -> str:
    """Return a table of providers with their service, dialect and key variables."""
    rows = [
        [f"`{p.name}`", p.label, f"`{p.dialect}`", " ".join(f"`{key}`" for key in p.keys) or "-"]
        for p in load_shipped().providers.values()
    ]
    return table(["provider", "service", "dialect", "key"], rows)


def by_provider() -> str:
    """Return the levels of one model per family, provider by provider."""
    parts = []
    for provider in load_shipped().providers.values():
        rows = [row for entry in _one_a_family(provider.name) if (row := _row(entry))]
        if rows:
            head = ["family", "default", *LEVELS]
            parts.append(f"### {provider.label} (`{provider.name}`)\n\n{table(head, rows)}")
    return "\n\n".join(parts)


def _one_a_family(provider: str) -> list[ModelEntry]:
    found: dict[str, ModelEntry] = {}
    for entry in load_catalog().entries(provider):
        found.setdefault(entry.family, entry)
    return list(found.values())


def _row(entry: ModelEntry) -> list[str]:
    cells = [said(pondero.plan(entry.id, level)) for level in LEVELS]
    return [f"{entry.family}", entry.capability.default, *cells]


def controls() -> str:
    """Return which families of each provider take a number, can be off, or can hide thinking."""
    rows = []
    for provider in load_shipped().providers.values():
        thinking = [e for e in _one_a_family(provider.name) if e.capability.thinks]
        if thinking:
            rows.append([f"`{provider.name}`", *(_who(thinking, can) for can in CONTROLS.values())])
    return table(["provider", *CONTROLS], rows)


CONTROLS: dict[str, Callable[[ModelEntry], bool]] = {
    "takes a token budget": lambda entry: entry.capability.by_number,
    "takes levels": lambda entry: bool(entry.capability.efforts),
    "can be off": lambda entry: entry.capability.off,
    "shows thinking on request": lambda entry: entry.capability.shown == "ask",
    "shows it by default": lambda entry: entry.capability.shown in ("full", "summary"),
    "can hide it": lambda entry: (
        entry.placement.hide is not None or entry.capability.shown in ("ask", "never")
    ),
}


def _who(entries: list[ModelEntry], can: Callable[[ModelEntry], bool]) -> str:
    """Return the families that can: all, none, a few names, or a count."""
    names = [entry.family for entry in entries if can(entry)]
    if len(names) in (0, len(entries)):
        return "all" if names else "-"
    others = [entry.family for entry in entries if entry.family not in names]
    if len(names) <= 4:
        return ", ".join(names)
    if len(others) <= 4:
        return f"all but {', '.join(others)}"
    return f"{len(names)} of {len(entries)}"


def codes() -> str:
    """Return the closed list of adjustment codes."""
    rows = [[f"`{c}`", text, "passes" if c in BENIGN else "raises"] for c, text in CODES.items()]
    return table(["code", "meaning", "under `strict`"], rows)


def policies() -> str:
    """Return the fields of the policy and their values, the default first."""
    rows = [
        [f"`{name}`", " ".join(f"`{word}`" for word in words)] for name, words in CHOICES.items()
    ]
    rows += [[f"`{name}`", f"`{usual}`, or any number of tokens"] for name, usual in TOKENS.items()]
    return table(["field", "values"], rows)


def figures() -> str:
    """Return which token budgets mean which level on a model that takes only words."""
    most = max(FIGURES.values())
    changes = [n for n in range(2, most + 1) if nearest_level(n) != nearest_level(n - 1)]
    starts = [1, *changes]
    ends = [*(f"to {n - 1:,}" for n in changes), "and more"]
    rows = [
        [f"{start:,} {end}", f"`{level}`", f"{figure:,}"]
        for start, end, (level, figure) in zip(starts, ends, FIGURES.items(), strict=True)
    ]
    return table(["tokens", "level", "nominal tokens"], rows)


def contradictions() -> str:
    """Return the facts on which exchanges and the catalog disagree, and why the catalog is kept."""
    text = (ROOT / "tests/catalog/explained.toml").read_text("utf-8")
    kinds = {"taken": "accepted", "refused": "rejected", "unasked": "default"}
    rows = [
        [kinds[row["kind"]], f"`{row['provider']}:{row['model']}`", row["why"]]
        for row in tomllib.loads(text)["contradiction"]
    ]
    return table(["recorded", "model", "why"], rows)


@cache
def _compared() -> CatalogComparison:
    return compare_lists(snapshot(), load_catalog(), ours=provider_map(), settled=load_explained())


def agreement() -> str:
    """Return how many live thinking models of the list have the same control here."""
    found, seconds = _compared(), second_list()
    share = 100 * found.right / found.models
    return (
        f"{found.source} of {found.date}, {len(provider_map())} providers: of {found.models:,} "
        f"live thinking models {found.right:,} ({share:.0f} %) have the same control here and "
        f"{found.settled:,} another one, each for a reason below. "
        f"The second list is {seconds.name}'s."
    )


def disagreements() -> str:
    """Return every settled difference with its models and the value of each list."""
    return "\n\n".join(map(_settled, load_explained()))


def _settled(row: ExplainedDifference) -> str:
    found = [
        each
        for each in _compared().differences
        if each.field and each.why == row.why and each.provider == row.provider
    ]
    said = [
        [f"`{e.model}`", f"`{e.field}`", _told(e.ours), _told(e.theirs), _second(e)] for e in found
    ]
    title = f"### `{row.provider}`: {' and '.join(row.fields)}, {_few(row.models)}"
    sheet = table(["model", "field", "here", "models.dev", "LiteLLM"], said)
    return f"{title}\n\n{row.why[0].upper()}{row.why[1:]}. ({row.evidence})\n\n{sheet}"


def _few(models: tuple[str, ...]) -> str:
    more = f" and {len(models) - 1} more" if len(models) > 1 else ""
    return f"`{models[0]}`{more}"


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join("-" if item is None else str(item) for item in value) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _second(each: CatalogDifference) -> str:
    """Return the second list's value of the same field; it knows only some efforts."""
    entry = load_catalog().entry(f"{each.provider}:{each.model}")
    sold = second_list().providers.get(each.provider)
    listed = sold.models.get(each.model) if sold else None
    if listed is None and entry.asked_of:
        sold = second_list().providers.get(entry.provider.name)
        listed = sold.models.get(each.model) if sold else None
    if listed is None:
        return "-"
    words = [f"{w} {'yes' if said else 'no'}" for w, said in listed.takes.items() if w != "none"]
    says = {
        "thinks": _told(listed.reasoning),
        "off": _told(listed.takes["none"]) if "none" in listed.takes else "-",
        "words": ", ".join(words) or "-",
        "max_output": _told(listed.limit.output) if listed.limit.output else "-",
        "context": _told(listed.limit.context) if listed.limit.context else "-",
    }
    return says.get(each.field or "", "-")


def models_json() -> str:
    """Return the keys of a model in ``models --json``, from its schema."""
    schema = json.loads((ROOT / "docs/models.schema.json").read_text("utf-8"))
    keys = schema["$defs"]["model"]["properties"]
    return table(["key", "meaning"], [[f"`{k}`", each["description"]] for k, each in keys.items()])


HOW = {
    "breakpoints": "at breakpoints",
    "automatic": "automatic",
    "both": "automatic, and at breakpoints",
    "none": "none",
}


def prompt_caches() -> str:
    """Return how the emulator caches prompts, from the table of the services' sides."""
    head = [
        "service",
        "cached",
        "smallest prefix",
        "step",
        "lifetime",
        "breakpoints",
        "counts",
        "source",
    ]
    return table(head, [_cache_row(row) for row in load_cache_rules()])


def _cache_row(row: CacheRules) -> list[str]:
    if row.how == "none":
        return [row.vendor, HOW[row.how], *["-"] * 5, row.source]
    least = [
        f"{each.tokens:,}" + (f" ({each.named})" if each.named else "") for each in row.minimum
    ]
    lives = " or ".join(row.lifetimes or (row.lifetime,))
    marks = f"{row.marks}" + (f", look-back {row.look_back} blocks" if row.look_back else "")
    return [
        row.vendor,
        HOW[row.how],
        "; ".join(least),
        str(row.step) if row.step > 1 else "-",
        lives + (" (not promised)" if row.best_effort else ""),
        marks if row.marks else "-",
        "reads and writes" if row.writes else "reads",
        row.source,
    ]


def cache_layers() -> str:
    """Return which layers a change loses where breakpoints count."""
    claude = next(row for row in load_cache_rules() if row.how == "breakpoints")
    losses = [
        ("a tool; the model", "tools"),
        ("the system prompt", "system"),
        ("a message", "messages"),
    ]
    losses += [(SETTINGS[name], layer) for name, layer in claude.renders.items()]
    rows = [[named, *_losses(layer)] for named, layer in sorted(losses, key=_layer)]
    return table(["changed", *LAYERS], rows)


LAYERS = ("tools", "system", "messages")
SETTINGS = {
    "level": "`thinking` or `effort` at the top level",
    "tool_choice": "`tool_choice`",
    "images": "the first image, or the last one gone",
    "speed": "`speed`",
    "web_search": "web search",
    "citations": "citations",
    "format": "the format of the answer",
}


def _layer(loss: tuple[str, str]) -> int:
    return LAYERS.index(loss[1])


def _losses(layer: str) -> list[str]:
    first = LAYERS.index(layer)
    return ["kept" if number < first else "lost" for number in range(len(LAYERS))]


def size() -> str:
    """Return how many providers, families and names the catalog has."""
    catalog = load_shipped()
    families = sum(len(group.family) for group in catalog.groups.values())
    names = len(load_catalog().entries())
    return f"{len(catalog.providers)} providers, {families} families, {names:,} model names."


def scenarios() -> str:
    """Return every contract scenario, in the order in which they run."""
    rows = [[str(n), f"`{s.name}`", s.row or "-", s.shows] for n, s in enumerate(SCENARIOS, 1)]
    return table(["", "scenario", "row", "shows"], rows)


REQUIREMENTS = tomllib.loads((ROOT / "docs/requirements.toml").read_text("utf-8"))
PARTS = {
    "A": "A: thinking levels across providers",
    "B": "B: a contract for Google",
    "C": "C: unified settings",
    "D": "D: effort on Gemini",
    "E": "E: a thinking abstraction",
    "T": "T: problems of the second turn",
    "G": "G: constraints that no requirement mentions",
}


def requirements() -> str:
    """Return every requirement with the tests that show it, part by part."""
    parts = []
    for letter, title in PARTS.items():
        rows = [
            [id, row["asks"], row["type"], _evidence(row)]
            for id, row in REQUIREMENTS["rows"].items()
            if id.startswith(letter)
        ]
        parts.append(f"## {title}\n\n{table(['id', 'asks for', 'type', 'shown by'], rows)}")
    return "\n\n".join(parts)


def _evidence(row: dict[str, Any]) -> str:
    nodes = [_node(name) for name in row.get("shown", ())]
    return "<br>".join([*nodes, *([row["why"]] if "why" in row else [])]) or "**open**"


def _node(name: str) -> str:
    """Return the name of a test; ``NAME:SCENARIO`` is one case of it."""
    if "::" in name:
        return f"`{name}`"
    alias, _, scenario = name.partition(":")
    return f"`{REQUIREMENTS['tests'][alias]}`" + (f" ({scenario})" if scenario else "")


def account() -> str:
    """Return how many requirements are shown by tests, have a reason, or are open."""
    rows = REQUIREMENTS["rows"].values()
    shown = sum("shown" in row for row in rows)
    reasoned = sum("shown" not in row and "why" in row for row in rows)
    left = [
        id for id, row in REQUIREMENTS["rows"].items() if "shown" not in row and "why" not in row
    ]
    named = f" ({' '.join(left)})" if left else ""
    return (
        f"{len(rows)} rows: {shown} shown by tests, {reasoned} with a reason for having none, "
        f"{len(left)} open{named}."
    )


def clients() -> str:
    """Return the clients that can be launched, with their settings and install commands."""
    rows = []
    for row in load_clients().values():
        flags = [each for each in (*row.arguments, *row.model_arguments) if each.startswith("-")]
        said = [*row.env, *row.model_env, *dict.fromkeys(flags)]
        ways = " ".join(f"`{each}`" for each in said)
        rows.append([row.label, f"`pondero launch {row.name}`", ways, f"`{row.install}`"])
    return table(["client", "command", "settings", "install with"], rows)


def signatures() -> str:
    """Return what the signatures of each provider are bound to, with the source."""
    groups: dict[tuple[str, str], list[str]] = {}
    for provider in load_catalog().catalog.providers.values():
        fact = provider.signatures
        groups.setdefault((fact.bound_to, fact.source), []).append(f"`{provider.name}`")
    order = ("organisation", "region", "cloud", "none")
    found = sorted(groups.items(), key=lambda each: (order.index(each[0][0]), each[1]))
    rows = [[bound_to, " ".join(names), source] for (bound_to, source), names in found]
    return table(["bound to", "signatures of", "source"], rows)


def shared_limits() -> str:
    """Return which models share their rate limits, with the source."""
    rows = [
        [f"`{provider.name}`", " ".join(f"`{each}`" for each in shared.match), shared.source]
        for provider in load_catalog().catalog.providers.values()
        for shared in provider.shared_limits
    ]
    return table(["provider", "models", "source"], rows)


def pairs() -> str:
    """Return which features of a request each API dialect supports."""
    tried = runpy.run_path(str(ROOT / "docs" / "pairs.py"))
    return table(["", *tried["WIRES"]], tried["rows"]())


def endpoints() -> str:
    """Return what a gateway passes on besides conversations, by the names that keys list."""
    rows = []
    for name in dict.fromkeys(each.name for each in list_endpoints()):
        same = [each for each in list_endpoints() if each.name == name]
        calls = dict.fromkeys(call for each in same for call in _calls(each))
        holds = "yes" if any(each.carries for each in same) else "no"
        counts = dict.fromkeys(_COUNTS[each.counts] for each in same)
        rows.append(
            [f"`{name}`", " ".join(f"`{call}`" for call in calls), holds, ", ".join(counts)]
        )
    head = ["endpoint", "calls", "could hold a conversation", "its use is known"]
    return table(head, rows)


_COUNTS = {"body": "before, from the body", "answer": "from the answer", "nothing": "it is free"}


def _calls(endpoint: Endpoint) -> list[str]:
    """Return the calls as clients write them: each path once, with its methods."""
    version = {"openai": "/v1", "gemini": "/v1beta"}.get(endpoint.api, "")
    paths: dict[str, list[str]] = {}
    for call in endpoint.calls:
        method, _, path = call.partition(" ")
        shown = path if "{version}" in path else f"{endpoint.before}{version}{path}"
        paths.setdefault(shown, []).append("WebSocket" if method == "SOCKET" else method)
    return [f"{','.join(methods)} {path}" for path, methods in paths.items()]


BLOCKS: dict[str, Callable[[], str]] = {
    **runpy.run_path(str(ROOT / "docs" / "interfaces.py"))["BLOCKS"],
    **runpy.run_path(str(ROOT / "docs" / "rooms.py"))["BLOCKS"],
    **runpy.run_path(str(ROOT / "docs" / "referee.py"))["BLOCKS"],
    **runpy.run_path(str(ROOT / "docs" / "programs.py"))["BLOCKS"],
    **runpy.run_path(str(ROOT / "docs" / "troubleshooting.py"))["BLOCKS"],
    **runpy.run_path(str(ROOT / "docs" / "costs.py"))["BLOCKS"],
    "ladder": lambda: ladder(list(SHOWN)),
    "ladder-few": lambda: ladder(list(FEW)),
    "providers": providers,
    "by-provider": by_provider,
    "codes": codes,
    "policies": policies,
    "figures": figures,
    "controls": controls,
    "contradictions": contradictions,
    "size": size,
    "requirements": requirements,
    "account": account,
    "scenarios": scenarios,
    "clients": clients,
    "endpoints": endpoints,
    "signatures": signatures,
    "shared limits": shared_limits,
    "pairs": pairs,
    "agreement": agreement,
    "disagreements": disagreements,
    "models-json": models_json,
    "prompt-caches": prompt_caches,
    "cache-layers": cache_layers,
}


def generated(text: str) -> str:
    """Return a file's text with every marked block generated again."""
    for name, make in BLOCKS.items():
        marks = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if marks.search(text):
            block = make()
            text = marks.sub(lambda found, block=block: f"{found[1]}{block}\n{found[2]}", text)
    return text


if __name__ == "__main__":
    for name in FILES:
        path = ROOT / name
        path.write_text(generated(path.read_text("utf-8")), "utf-8")
