"""Finds a model by its name: its facts and the provider that serves it."""

import re
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from ..canon import decode_json
from ..errors import BadThinking, UnknownModel, UnknownProvider
from ..thinking import (
    NOTHING,
    NOWHERE,
    Capability,
    Evidence,
    Placement,
    is_level_text,
    is_nearly_level,
    parse_auto,
    parse_intent,
)
from .index import (
    FamilyIndex,
    FamilyMatch,
    ProviderFamilies,
    SimilarNames,
    is_misspelt,
    near_name,
    split_words,
)
from .relatives import fold_name
from .schema import Catalog, Family, FamilyGroup, NamePatterns, Provider, own_group
from .short_names import ShortName, find_short_names

_HALF = re.compile("[\ud800-\udfff]")  # half a surrogate pair, which UTF-8 cannot encode
_NUMBER = re.compile(r"[ae]?[0-9]+[bekm]?")  # a date or a size, as 2512, 14b, a3b and e4b
_NOT_IMAGES = ("application/", "audio/", "text/", "video/")


SCHEMA = 1
"""Version of the output of ``models --json``; raised when a key is removed or changes meaning."""


class ModelEntry(Struct, frozen=True):
    """One model at one provider. If ``inferred``, its facts are a relative's (``like``), or none.

    ``near`` is a catalogued name, for a typing error. ``typed`` is the given name if spelled
    otherwise, ``asked_of`` the given provider if a sibling serves the model. ``window`` is from a
    public list. ``maker`` is a provider in the path of a name that another one serves: the
    ``openai`` of ``openai/gpt-5.5``, if no provider was named. ``short`` is a given short name,
    ``line`` the line whose newest model it means. ``deployment`` is the account of a gateway that
    is asked, empty for the provider's usual one; ``account`` names the account behind it, beginning
    with @ if it is not that of the provider's own key; ``reads_of`` are the accounts whose
    signatures it can read, None for all. ``begins_like`` is a catalogued name: the model's own name
    only begins with it, and no list has that.
    """

    provider: Provider
    model: str
    family: str
    capability: Capability
    placement: Placement
    inferred: bool = False
    near: str | None = None
    typed: str = ""
    like: str = ""
    why: Literal["nearest", "oldest", "newest", "word", "any"] = "newest"
    asked_of: str = ""
    window: tuple[int, int] = (0, 0)
    maker: str = ""
    short: str = ""
    line: str = ""
    deployment: str = ""
    account: str = ""
    reads_of: frozenset[str] | None = None
    begins_like: str = ""

    @property
    def signer(self) -> str | None:
        """Return the account that signs its answers; None for the provider's usual one."""
        if self.account:
            return self.account if self.account[0] == "@" else None
        return self.deployment or None

    @property
    def evidence(self) -> Evidence:
        """Return the source of the facts."""
        return "inferred" if self.inferred else self.capability.evidence

    @property
    def context(self) -> int | None:
        """Return the context window in tokens, if known."""
        return self.capability.context or self.window[0] or None

    @property
    def max_output(self) -> int | None:
        """Return the output limit, if known; requests use ``capability.max_output`` alone."""
        return self.capability.max_output or self.window[1] or None

    @property
    def quirks(self) -> Mapping[str, Any]:
        """Return the provider's quirks, with those of this model."""
        return _find_quirks(self) if self.provider.model_quirks else self.provider.quirks

    @property
    def takes_tools(self) -> bool:
        """Return whether function tools can be offered, as its family and its provider say."""
        refused = "tools" in self.quirks.get("unsupported", ())
        return self.capability.tools != "refused" and not refused

    @property
    def takes_level_turns(self) -> bool:
        """Return whether a turn inside the conversation may set the level."""
        return _is_listed(self.model, self.provider.strip, self.provider.in_band)

    @property
    def limits(self) -> str:
        """Return the name under which its service counts its requests, for rate limits."""
        return self.provider.name_limits(self.model)

    @property
    def binds_prefix(self) -> bool:
        """Return whether a signature of this model covers everything before it."""
        return _is_listed(self.model, self.provider.strip, self.provider.prefix_bound)

    def rejected_fields(self, *, thinking: bool, stream: bool) -> tuple[tuple[str, ...], ...]:
        """Return the paths of fields that the service rejects for this model, so asked."""
        holds = {"always": True, "thinking": thinking, "streaming": stream}
        names = _variants(self.model.lower(), self.provider.strip)
        return tuple(
            tuple(field.split("."))
            for row in self.provider.rejects
            if holds[row.when] and any(_is_one_of(name, row.match) for name in names)
            for field in row.fields
        )

    @property
    def max_tools(self) -> int | None:
        """Return how many tools a request may have, if it is known."""
        provider = self.provider
        if not provider.tool_limits:
            return None
        return _find_limit(provider.tool_limits, self.model.lower(), provider)

    def __hash__(self) -> int:
        """Hash the name alone: a provider's tables have no hash."""
        return hash((self.provider.name, self.model, self.deployment))

    @property
    def _limits_evidence(self) -> Evidence | None:
        facts = self.capability
        if (facts.context or not self.window[0]) and (facts.max_output or not self.window[1]):
            return self.evidence if facts.context or facts.max_output else None
        return "list"

    @property
    def id(self) -> str:
        """Return the full name, provider:model."""
        return f"{self.provider.name}:{self.model}"

    def to_json(self) -> dict[str, Any]:
        """Return the catalog's facts as plain JSON values."""
        facts = self.capability
        budget = facts.sent_budget
        return {
            "id": self.id,
            "provider": self.provider.name,
            "model": self.model,
            "dialect": self.provider.dialect,
            "family": self.family,
            "thinks": facts.thinks,
            "levels": list(facts.levels),
            "off": facts.off or not facts.thinks,
            "default": facts.default,
            "budget": [budget.min, budget.max] if budget else None,
            "shown": facts.shown,
            "max_output": self.max_output,
            "context": self.context,
            "limits_evidence": self._limits_evidence,
            "source": facts.source,
            "checked": facts.checked,
            "evidence": self.evidence,
        }


class ParsedModelName(Struct, frozen=True):
    """The parts of a model string."""

    provider: str | None
    model: str
    level: str | None = None


class Lookup:
    """Finds entries in one catalog; ``calibrated`` gives the model of a bare ``auto:NAME``."""

    def __init__(self, catalog: Catalog, calibrated: Callable[[str], str] | None = None) -> None:
        self.catalog = catalog
        self._calibrated = calibrated
        self._words = catalog.extra_words()
        self._indexes: dict[str, FamilyIndex] = {}
        self._relatives: dict[str, ProviderFamilies] = {}
        self._windows: dict[str, dict[str, tuple[int, int]]] = {}
        self._spelt: dict[str, SimilarNames] = {}
        self._known: dict[str, frozenset[str]] = {}
        self._dates = _compile_endings(catalog.names.dates)

    def split(self, text: object) -> ParsedModelName:
        """Split ``[provider:]model[/level]`` or ``...@level``; names may have slashes, @dates."""
        if not isinstance(text, str) or not text.strip():
            message = (
                f"a model is named like 'claude-opus-5' or 'google:gemini-2.5-pro', not {text!r}"
            )
            raise UnknownModel(message)
        if not text.isascii() and _HALF.search(text):
            raise UnknownModel(f"invalid model name {text!r}: half a character cannot be sent")
        model, level_text = text.strip(), None
        if not model.isprintable():  # a lone surrogate is not, nor is a line's end
            raise UnknownModel(f"a model's name has characters that cannot be printed: {text!a}")
        cut = max(model.rfind("/"), model.rfind("@"))
        if cut >= 0:
            tail = model[cut + 1 :]
            if not tail or not model[:cut]:
                message = (
                    f"{text!r} has nothing {'after' if not tail else 'before'} its {model[cut]!r}"
                )
                raise UnknownModel(message)
            if self._is_level(tail, model):
                model, level_text = model[:cut].rstrip(), tail
                self._check_one_level(text, model, level_text)
        elif (named := self._model_of(model)) is not None:
            model, level_text = named, model
        prefix, colon, rest = model.partition(":")
        if colon and prefix.lower() in self.catalog.providers and rest:
            return ParsedModelName(prefix.lower(), rest, level_text)
        return ParsedModelName(None, model, level_text)

    def apart(self, text: str) -> tuple[str, str | None]:
        """Return a model string without its level, and the level."""
        model, level_text = text.strip(), self.split(text).level
        if level_text is None:
            return model, None
        return self._model_of(model) or model[: -len(level_text) - 1].rstrip(), level_text

    def _is_level(self, tail: str, whole: str) -> bool:
        if (
            not tail
            or (tail != "0" and tail[0] == "0")
            or not is_level_text(tail, words=self._words)
        ):
            return False
        return parse_auto(tail) is None or fold_name(whole) not in self._autos

    @cached_property
    def _autos(self) -> frozenset[str]:
        known = self.catalog.providers.values()
        names = ((at.name, name) for at in known for name in (*self._list_served(at), *at.aliases))
        ending = (each for each in names if parse_auto(re.split("[/@]", each[1])[-1]) is not None)
        return frozenset(fold_name(each) for at, name in ending for each in (name, f"{at}:{name}"))

    def _model_of(self, text: str) -> str | None:
        auto = parse_auto(text)
        if auto is None or auto.name is None or self._calibrated is None:
            return None
        return None if "auto" in self.catalog.providers else self._calibrated(auto.name)

    def entry(
        self, text: str, *, unknown: Literal["family", "omit", "error"] = "family"
    ) -> ModelEntry:
        """Return the entry of a model string; a level in it is ignored."""
        name = self.split(text)
        if " " in name.model:  # a route of a gateway may have one in its name, a model has none
            raise UnknownModel(self._describe_spaced(text.strip(), name.model))
        if (short := self._find_short(name)) is not None:
            return replace(self.entry(short.id), short=name.model, line=short.line)
        provider, hit = self._find_bare(name) if name.provider is None else self._find_at(name)
        if hit is None or hit.inferred or self._is_level_misspelt(provider, name.model):
            self._check_level(text)
        begins_like = "" if hit is None else self._find_beginning(provider, name.model, hit)
        if hit is None or hit.inferred or begins_like:
            if unknown == "error":
                raise UnknownModel(self._describe_unknown(name.model, f"{provider.label} model "))
            is_judged = name.provider is None and not begins_like
            if is_judged and self._is_no_name(provider, name.model):
                raise UnknownModel(self._describe_unknown(name.model))
        model = provider.aliases.get(name.model, name.model)
        near = self._find_near(provider, model) if hit is None or hit.inferred else None
        if begins_like:
            near = self._find_named_in(provider, model)
        if hit is None or ((hit.inferred or begins_like) and unknown == "omit"):
            nobody = ModelEntry(provider, model, "unknown", NOTHING, NOWHERE, inferred=True)
            return replace(nobody, near=near, window=self._window(provider, model))
        spelt = hit.catalog_name(model) if provider.spells else model
        model = provider.aliases.get(spelt, spelt)
        typed = "" if model == name.model else name.model
        model = self._add_prefix(provider, model, hit.family)
        facts, placement = _facts(provider, model, hit)
        return ModelEntry(
            provider,
            model,
            hit.family.name,
            facts,
            placement,
            hit.inferred,
            near,
            typed,
            hit.like,
            hit.why,
            "" if name.provider in (None, provider.name) else name.provider or "",
            self._window(provider, model),
            self._maker(provider, name),
            begins_like=begins_like,
        )

    def pin(self, text: str) -> str:
        """Return a model string with the full name in place of a short one, for the disk."""
        name = self.split(text)
        if (short := self._find_short(name)) is None:
            return text
        return short.id if name.level is None else f"{short.id}/{name.level}"

    def default_of(self, provider: str) -> str | None:
        """Return the full name of the model for users who name none; None if it has none."""
        name = self.catalog.names.defaults.get(provider)
        if name is None or provider not in self.catalog.providers:
            return None
        short = self._find_short(ParsedModelName(None, name))
        if short is None:
            return f"{provider}:{name}"
        model = short.id.partition(":")[2]
        return f"{provider}:{self._find_own_name(provider, model) or model}"

    def find_example(self, provider: str) -> str | None:
        """Return a model that a provider serves, the default of another one, for a message."""
        shorts = (
            self._find_short(ParsedModelName(None, name))
            for name in self.catalog.names.defaults.values()
        )
        own = (
            self._find_own_name(provider, short.id.partition(":")[2])
            for short in shorts
            if short is not None
        )
        return next(filter(None, own), None)

    def _find_own_name(self, provider: str, model: str) -> str | None:
        """Return a provider's own name of a model; None if it does not serve it.

        A router spells the names of makers in its own way: anthropic/claude-sonnet-5.5.
        """
        bare = fold_name(model)
        served = self._list_served(self.catalog.providers[provider])
        return next((each for each in served if bare in self.bare_names(provider, each)), None)

    @cached_property
    def short_names(self) -> dict[str, ShortName]:
        """Return the short names that are no model's name in full."""
        found, _ = self._shorts
        return {name: short for name, short in found.items() if self._is_free(name)}

    def _find_short(self, name: ParsedModelName) -> ShortName | None:
        """Return what a short name means; a name that the catalog has in full means itself."""
        bare = fold_name(name.model)
        if name.provider is not None or not bare.replace("-", "").isalpha():
            return None
        short = self._shorts[0].get(bare)
        return short if short is not None and self._is_free(name.model) else None

    def _find_near(self, provider: Provider, model: str) -> str | None:
        """Return the name that was probably meant: spelt nearly so, or in full for a short one."""
        short = self._find_short(ParsedModelName(None, model))
        if short is not None:
            meant = short.id.partition(":")[2]
            if own := self._find_own_name(provider.name, meant):
                return own
        return near_name(model, self._list_served(provider))

    def _find_beginning(self, provider: Provider, model: str, hit: FamilyMatch) -> str:
        """Return the catalogued name that an unlisted one begins with; empty if it is listed.

        Numbers, tags and words such as preview may follow any name. A host serves more names than
        any list has, so only a maker's own are judged.
        """
        rest = hit.bare[hit.weight :]
        usual = (*self.catalog.names.statuses, *self.catalog.names.tunings)
        words = [each for each in rest.split("-")[1:] if not _NUMBER.fullmatch(each)]
        if hit.inferred or not set(rest).isdisjoint(":@") or set(words) <= set(usual):
            return ""
        own = own_group(provider.name)  # a user gives prefixes, which stand for any name
        groups = (self.catalog.groups[group] for group in provider.families if group != own)
        if not any(group.home == provider.name and hit.family in group.family for group in groups):
            return ""
        bare = self.bare_names(provider.name, provider.aliases.get(model, model))
        endings = "|".join((_NUMBER.pattern, *map(re.escape, usual)))
        settled = (re.sub(rf"(?:-(?:{endings}))+$", "", each) for each in bare)
        listed = self._list_known(provider)
        return "" if any(each in listed for each in (*bare, *settled)) else hit.name

    def _list_known(self, provider: Provider) -> frozenset[str]:
        """Return the folded names that the catalog or a public list has of a provider."""
        if provider.name not in self._known:
            served = map(fold_name, self._list_served(provider))
            self._known[provider.name] = frozenset((*served, *self._list_windows(provider.name)))
        return self._known[provider.name]

    def _find_named_in(self, provider: Provider, model: str) -> str | None:
        """Return the longest catalogued name that a name begins with, as in gpt-5.5-pro2."""
        served = (each for each in self._list_served(provider) if model.startswith(each))
        return max(served, key=len, default=None)

    def _is_no_name(self, provider: Provider, model: str) -> bool:
        """Return whether an unknown name without its provider is a mistake, not a new model."""
        # A line's first word alone, as command, is a word of English.
        if model.isalpha() or is_misspelt(model, self._words_of(provider)):
            return True
        near = self._find_near(provider, model)
        return near is not None and _join_words(near) == _join_words(model)  # gpt5, grok4

    def _is_free(self, model: str) -> bool:
        known = self.catalog.providers.values()
        if any(model in provider.aliases for provider in known):
            return False
        hit = self._find_hit(ParsedModelName(None, model))
        return hit is None or hit.inferred or not hit.weight

    @cached_property
    def _shorts(self) -> tuple[dict[str, ShortName], dict[str, list[str]]]:
        return find_short_names(
            self.catalog, lambda provider, model: fold_name(model) in self._list_windows(provider)
        )

    def _maker(self, provider: Provider, name: ParsedModelName) -> str:
        maker, slash, _ = name.model.partition("/")
        is_other = slash and maker in self.catalog.providers and maker != provider.name
        return maker if is_other and name.provider is None else ""

    def _window(self, provider: Provider, model: str) -> tuple[int, int]:
        known = self._list_windows(provider.name)
        if not known:
            return (0, 0)
        bare = _bare_names(model, provider.strip, self.catalog.names)
        found = next((known[each] for each in bare if each in known), None)
        return found or known.get(self.strip_date(bare[-1])) or (0, 0)

    def _list_windows(self, provider: str) -> dict[str, tuple[int, int]]:
        if provider not in self._windows:
            raw = self.catalog.limits.get(provider)
            windows = decode_json(raw, dict[str, tuple[int, int]]) if raw is not None else {}
            self._windows[provider] = windows
        return self._windows[provider]

    def provider(self, name: str) -> Provider:
        """Return a provider by its name; raises UnknownProvider."""
        if not isinstance(name, str):
            raise UnknownProvider(f"a provider is a name such as 'anthropic', not {name!r}")
        if name not in self.catalog.providers:
            raise UnknownProvider(self._describe_no_provider(name))
        return self.catalog.providers[name]

    def telemetry_name(self, name: str) -> str:
        """Return a provider's name in OpenTelemetry's conventions; any other name is itself."""
        found = self.catalog.providers.get(name)
        return found.telemetry or name if found is not None else name

    def entries(self, provider: str | None = None) -> list[ModelEntry]:
        """Return every served model of the catalog, of one provider or of all."""
        return list(self._entries) if provider is None else self._entries_of(provider)

    @cached_property
    def _entries(self) -> tuple[ModelEntry, ...]:
        """The models of all providers: a search as you type reads them with each key."""
        return tuple(each for name in self.catalog.providers for each in self._entries_of(name))

    def _entries_of(self, provider: str) -> list[ModelEntry]:
        served = self._list_served(self.provider(provider))
        return [self.entry(f"{provider}:{model}") for model in served]

    def _list_served(self, provider: Provider) -> list[str]:
        return [
            f"{provider.prefix.get(group, '')}{model}"
            for group in provider.families
            for family in self.catalog.groups[group].family
            for model in family.match
            if model and "*" not in model and not _is_one_of(model, provider.absent)
        ]

    def bare_names(self, provider: str, model: str) -> list[str]:
        """Return a name folded for comparison: whole, and without prefixes."""
        return _bare_names(model, self.provider(provider).strip, self.catalog.names)

    def strip_date(self, bare: str) -> str:
        """Return a folded name without its date or revision."""
        return self._dates.sub("", bare)

    def names(self, entry: ModelEntry, model: str) -> bool:
        """Return whether the entry's family has this very name, prefixes and dates aside."""
        bare = self.bare_names(entry.provider.name, model)
        undated = [self.strip_date(each) for each in bare]
        groups = (self.catalog.groups[name] for name in entry.provider.families)
        rows = (
            family for group in groups for family in group.family if family.name == entry.family
        )
        return any(fold_name(name) in (*bare, *undated) for family in rows for name in family.match)

    def _add_prefix(self, provider: Provider, model: str, family: Family) -> str:
        for group, prefix in provider.prefix.items():
            bare = _bare_names(model, provider.strip, self.catalog.names)
            whole = len(bare) == 1  # nothing was before it
            if whole and family in self.catalog.groups[group].family:
                return f"{prefix}{model}"
        return model

    def _find_at(self, name: ParsedModelName) -> tuple[Provider, FamilyMatch | None]:
        provider = self.catalog.providers[name.provider or ""]
        if provider.siblings:
            for bare in _bare_names(name.model, provider.strip, self.catalog.names):
                for beginning, sibling in provider.siblings.items():
                    if bare.startswith(beginning) and sibling in self.catalog.providers:
                        provider = self.catalog.providers[sibling]
        return provider, self._search(provider, name.model)

    def _row(self, provider: Provider, model: str) -> FamilyMatch | None:
        name = provider.aliases.get(model, model)
        return self._served_as(provider).best(self.bare_names(provider.name, name))

    def _search(self, provider: Provider, model: str) -> FamilyMatch | None:
        row = self._row(provider, model)
        if row is not None and row.weight:
            return row
        bare = self.bare_names(provider.name, provider.aliases.get(model, model))
        undated = [self.strip_date(each) for each in bare]
        if (dated := self._served_as(provider).best(undated)) is not None and dated.weight:
            return dated
        if (word := self._unthinking.best(bare)) is not None:
            return replace(word, inferred=True, like=word.family.name, why="word")
        return row or self._kin(provider).best(bare) or self._kin(provider).best(undated)

    @cached_property
    def _unthinking(self) -> FamilyIndex:
        group = self.catalog.groups.get(self.catalog.names.unthinking, FamilyGroup())
        return FamilyIndex(group.family)

    def _served_as(self, provider: Provider) -> FamilyIndex:
        if provider.name not in self._indexes:
            self._indexes[provider.name] = FamilyIndex(self._families(provider))
        return self._indexes[provider.name]

    def _families(self, provider: Provider) -> list[Family]:
        groups = [self.catalog.groups.get(group, FamilyGroup()) for group in provider.families]
        return [family for group in groups for family in group.family]

    def _kin(self, provider: Provider) -> ProviderFamilies:
        if provider.name not in self._relatives:
            self._relatives[provider.name] = ProviderFamilies(self._families(provider))
        return self._relatives[provider.name]

    def _find_bare(self, name: ParsedModelName) -> tuple[Provider, FamilyMatch | None]:
        if (found := self._search_homes(name)) is None:
            self._check_level(name.model)
            self._check_provider(name.model)
            raise UnknownModel(self._describe_unknown(name.model))
        return found

    def _search_homes(self, name: ParsedModelName) -> tuple[Provider, FamilyMatch | None] | None:
        """Return the provider of a bare name; None if no provider has one like it."""
        model = name.model.lower()
        for provider in self.catalog.providers.values():
            if _is_claimed(model, provider.claims) or name.model in provider.aliases:
                return provider, self._search(provider, name.model)
        known = self.catalog.providers
        groups = self.catalog.groups.values()
        homes = [known[group.home] for group in groups if group.home and group.home in known]
        found = [(home, hit) for home in homes if (hit := self._row(home, name.model))]
        found = found or [(home, hit) for home in homes if (hit := self._guess_home(home, name))]
        return max(found, key=lambda pair: (not pair[1].inferred, pair[1].weight), default=None)

    def _guess_home(self, home: Provider, name: ParsedModelName) -> FamilyMatch | None:
        """Return what a name without its provider would be at a home; None if it is not of there.

        All makers have words such as embed in their names: one line of this maker must have the
        name too.
        """
        hit = self._search(home, name.model)
        if hit is None or hit.why != "word":
            return hit
        line = self._kin(home).best(self.bare_names(home.name, name.model))
        return None if line is None else replace(hit, weight=line.weight)

    def _check_level(self, text: str) -> None:
        """Raise BadThinking if the model is known and its level is misspelt."""
        cut = max(text.rfind("/"), text.rfind("@"))
        if cut <= 0 or is_level_text(text[cut + 1 :], words=self._words):
            return
        try:
            hit = self._find_meant(self.split(text[:cut]))
        except (UnknownModel, BadThinking):
            return
        if hit is None or hit.family.match == ("",):
            return
        # A model that is only like a known one may have any name: the tail must be nearly a level.
        if not hit.inferred or is_nearly_level(text[cut + 1 :], words=self._words):
            parse_intent(text[cut + 1 :], words=self._words)

    def _is_level_misspelt(self, provider: Provider, model: str) -> bool:
        """Return whether a name that only a pattern of the catalog fits ends like a level."""
        tail = model[max(model.rfind("/"), model.rfind("@")) + 1 :]
        if tail == model or not is_nearly_level(tail, words=self._words):
            return False
        return model not in self._list_served(provider)

    def _find_hit(self, name: ParsedModelName) -> FamilyMatch | None:
        found = self._search_homes(name) if name.provider is None else self._find_at(name)
        return found[1] if found is not None else None

    def _find_meant(self, name: ParsedModelName) -> FamilyMatch | None:
        """Return the match of a name, of the model that it means if it is a short one."""
        short = self._find_short(name)
        return self._find_hit(name if short is None else self.split(short.id))

    def _check_one_level(self, text: str, model: str, level_text: str) -> None:
        """Raise BadThinking if a known model is followed by two levels."""
        cut = max(model.rfind("/"), model.rfind("@"))
        first = model[cut + 1 :]
        if cut <= 0 or not self._is_level(first, model):
            return
        try:
            hit = self._find_meant(self.split(model[:cut]))
        except UnknownModel:
            return
        if hit is not None and hit.weight:
            raise BadThinking(f"{text!r} names two levels, {first!r} and {level_text!r}; give one")

    def is_misspelt_short(self, word: str) -> bool:
        """Return whether a word is nearly a short name, as opuss, and no name itself."""
        bare = fold_name(word)
        return bare not in self._similar_shorts and self._similar_shorts.has_nearly(bare)

    @cached_property
    def _similar_shorts(self) -> SimilarNames:
        return SimilarNames(self.short_names)

    def close(self, model: str) -> list[str]:
        """Return similar catalogued names, the nearest first."""
        return self._similar.close(model.lower(), 3, 0.6)

    @cached_property
    def _hosts(self) -> dict[str, list[str]]:
        """Return the full names of all catalogued models, by their own in small letters."""
        found: dict[str, list[str]] = {}
        for id, model in self._catalogued:
            found.setdefault(model.lower(), []).append(id)
        return found

    @cached_property
    def _similar(self) -> SimilarNames:
        return SimilarNames((*self.short_names, *(model for _, model in self._catalogued)))

    @cached_property
    def _catalogued(self) -> tuple[tuple[str, str], ...]:
        """Return each catalogued model's full name and its own; a tenth of a second's work."""
        return tuple((entry.id, entry.model) for entry in self.entries())

    def _words_of(self, provider: Provider) -> SimilarNames:
        if provider.name not in self._spelt:
            self._spelt[provider.name] = SimilarNames(split_words(self._list_served(provider)))
        return self._spelt[provider.name]

    def _describe_unknown(self, model: str, kind: str = "model ") -> str:
        if hosts := self._hosts.get(model.lower()):
            return f"{model!r} needs the name of its provider: {' or '.join(hosts)}"
        if lines := list(filter(self._is_free, self._shorts[1].get(fold_name(model), ()))):
            return f"unknown {kind}{model!r}; did you mean {' or '.join(map(repr, lines))}?"
        close = self.close(model)
        guess = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
        hint = f"see 'pondero models', or name its provider (ollama:{model})"
        return f"unknown {kind}{model!r}; {guess}{hint}"

    def _describe_spaced(self, text: str, model: str) -> str:
        first, _, rest = model.partition(" ")
        meant = f"{first}/{rest}"
        is_level = bool(first) and rest.isalpha() and self._is_level(rest, meant)
        guess = f"; did you mean {meant!r}?" if is_level else ""
        return f"invalid model name {text!r}: a name has no spaces{guess}"

    def _check_provider(self, model: str) -> None:
        prefix, colon, rest = model.partition(":")
        if colon and rest and prefix.isidentifier():
            raise UnknownProvider(self._describe_no_provider(prefix))

    def _describe_no_provider(self, name: str) -> str:
        from difflib import get_close_matches  # noqa: PLC0415 - costs 5 ms, only for an error

        known = list(self.catalog.providers)
        close = get_close_matches(name, known, n=1)
        guess = f"did you mean {close[0]!r}? " if close else ""
        return f"unknown provider {name!r}; {guess}use {' '.join(known)}"


def _join_words(model: str) -> str:
    return fold_name(model).replace("-", "")


@lru_cache(maxsize=1024)
def _find_quirks(entry: ModelEntry) -> Mapping[str, Any]:
    provider = entry.provider
    found = [
        row.quirks
        for row in provider.model_quirks
        if _is_listed(entry.model, provider.strip, row.match)
    ]
    return {key: value for each in (provider.quirks, *found) for key, value in each.items()}


@lru_cache(maxsize=1024)
def _is_listed(model: str, strip: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    """Return whether patterns have a model, in any of its spellings."""
    return any(_is_one_of(name, patterns) for name in _variants(model.lower(), strip))


def _is_one_of(model: str, patterns: tuple[str, ...]) -> bool:
    if model in patterns:
        return True
    globs = [each for each in patterns if "*" in each]
    if not globs:
        return False
    from fnmatch import fnmatchcase  # noqa: PLC0415 - only where a provider has such patterns

    return any(fnmatchcase(model, each) for each in globs)


def _is_claimed(model: str, claims: tuple[str, ...]) -> bool:
    for claim in claims:
        first, *more = claim.split("*")
        if model.startswith(first) and all(each in model for each in more):
            return True
    return False


def _bare_names(model: str, strip: tuple[str, ...], names: NamePatterns) -> list[str]:
    name = model.lower().lstrip(names.marks)
    whole = fold_name(name)
    for path in names.paths:
        name = name.rpartition(path)[2] or name
    while prefix := next((p for p in strip if name.startswith(p) and name != p), None):
        name = name[len(prefix) :]
    bare = fold_name(name)
    return [whole] if bare == whole else [whole, bare]


def _compile_endings(dates: tuple[str, ...]) -> re.Pattern[str]:
    endings = "|".join(re.escape(fold_name(each)).replace(r"\#", "[0-9]") for each in dates)
    return re.compile(rf"(?<=.)(?:{endings})$" if endings else "(?!)")


def _variants(model: str, strip: tuple[str, ...] = ()) -> set[str]:
    """Return a name as patterns see it: whole, without a router's variant, without prefixes."""
    names = {model, model.partition(":")[0]}
    while prefix := next((p for p in strip if model.startswith(p) and model != p), None):
        model = model[len(prefix) :]
        names.add(model)
    return names


def _leave_out(provider: Provider, model: str, facts: Capability) -> Capability:
    """Return the facts without what this provider does not offer with the model."""
    names = _variants(model)
    if any(_is_one_of(name, provider.text_only) for name in names):
        facts = replace(facts, media=())
    if any(_is_one_of(name, provider.imageless) for name in names):
        facts = replace(facts, media=_NOT_IMAGES)
    if any(_is_one_of(name, provider.toolless) for name in names):
        facts = replace(facts, tools="refused")
    if facts.max_output is None and provider.output_limits:
        facts = replace(facts, max_output=_find_limit(provider.output_limits, model, provider))
    return facts


def _find_limit(limits: Mapping[str, int], model: str, provider: Provider) -> int | None:
    """Return the number of the first pattern that matches one of a model's names."""
    names = _variants(model, provider.strip)
    found = (most for each, most in limits.items() if any(_is_one_of(n, (each,)) for n in names))
    return next(found, None)


def _facts(provider: Provider, model: str, hit: FamilyMatch) -> tuple[Capability, Placement]:
    facts = provider.override.get(hit.family.name, hit.family.capability)
    if facts.shown == "ask" and model.startswith(provider.unshown):
        facts = replace(facts, shown="never")
    if facts.thinks and model.endswith(provider.on_suffixes):
        facts = replace(facts, default="on")
    if hit.inferred and not facts.off:
        facts = replace(facts, tools="ok")  # a guess is no reason to take tools away
    facts = _leave_out(provider, model.lower(), facts)
    placement = provider.placement.get(facts.style or "", NOWHERE)
    if provider.unshown and model.startswith(provider.unshown):
        placement = replace(placement, show=None, hide=None)
    return facts, placement
