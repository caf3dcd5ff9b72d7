"""Finds a model by its name: what it can do, and which provider serves it."""

import re
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from ..errors import BadThinking, UnknownModel, UnknownProvider
from ..thinking import NOTHING, NOWHERE, Capability, Placement, is_wish, parse
from .schema import Catalog, Family, Group, Provider

_HALF = re.compile("[\ud800-\udfff]")  # half a surrogate pair, which UTF-8 cannot encode
_VERSION = re.compile(r"-\d{1,2}(?![0-9a-z])")
_WORD = re.compile(r"[a-z]{4,}")
_NO_DIGIT = re.compile(r"\D+")
_BOUNDARY = re.compile(r"[-:]|@(?=\d|default|latest)")


class Entry(Struct, frozen=True):
    """One model at one provider. ``inferred``: it has the facts of a relative, or none.

    ``near`` is a catalogued name with the same numbers that an inferred one may be a slip for;
    ``typed`` is the name as it was given, where the service spells it differently.
    """

    provider: Provider
    model: str
    family: str
    capability: Capability
    placement: Placement
    inferred: bool = False
    near: str | None = None
    typed: str = ""

    @property
    def id(self) -> str:
        """Return the full name, provider:model."""
        return f"{self.provider.name}:{self.model}"

    def to_json(self) -> dict[str, Any]:
        """Return what the catalog says of this model, as plain JSON values."""
        facts = self.capability
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
            "budget": [facts.budget.min, facts.budget.max] if facts.budget else None,
            "shown": facts.shown,
            "max_output": facts.max_output,
            "context": facts.context,
            "source": facts.source,
            "checked": facts.checked,
        }


class Name(Struct, frozen=True):
    """A model string, taken apart."""

    provider: str | None
    model: str
    wish: str | None = None


class Lookup:
    """Finds entries in one catalog; its indexes are built once."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._words = catalog.extra_words()
        self._groups: dict[str, _Index] = {}

    def split(self, text: object) -> Name:
        """Return provider, model and wish of ``[provider:]model[/level]`` or ``...@level``.

        The tail counts as a wish only if it is one: names may contain slashes, and @dates.
        """
        if not isinstance(text, str) or not text.strip():
            message = (
                f"a model is named like 'claude-opus-5' or 'google:gemini-2.5-pro', not {text!r}"
            )
            raise UnknownModel(message)
        if not text.isascii() and _HALF.search(text):
            message = f"{text!r} is no model's name: half a character cannot be sent"
            raise UnknownModel(message)
        model, wish = text.strip(), None
        if not model.isprintable():  # a lone surrogate is not, nor is a line's end
            message = f"a model's name has characters that cannot be printed: {text!a}"
            raise UnknownModel(message)
        cut = max(model.rfind("/"), model.rfind("@"))
        if cut >= 0:
            tail = model[cut + 1 :]
            if not tail or not model[:cut]:
                message = (
                    f"{text!r} has nothing {'after' if not tail else 'before'} its {model[cut]!r}"
                )
                raise UnknownModel(message)
            if (tail == "0" or tail[0] != "0") and is_wish(tail, words=self._words):
                model, wish = model[:cut], tail
                self._check_one_level(text, model, wish)
        prefix, colon, rest = model.partition(":")
        if colon and prefix.lower() in self.catalog.providers and rest:
            return Name(prefix.lower(), rest, wish)
        return Name(None, model, wish)

    def entry(self, text: str, *, unknown: Literal["family", "omit", "error"] = "family") -> Entry:
        """Return the entry of a model string; a level in it is not looked at."""
        name = self.split(text)
        provider, hit = self._bare(name) if name.provider is None else self._at(name)
        if hit is None or hit.inferred:
            self._check_level(text)
            if unknown == "error":
                raise UnknownModel(self._unknown(name.model, f"{provider.label} model "))
            if name.provider is None and self._misspelt(name.model, provider):
                raise UnknownModel(self._unknown(name.model))
        model = provider.aliases.get(name.model, name.model)
        near = self._near(model, provider) if hit is None or hit.inferred else None
        if hit is None or (hit.inferred and unknown == "omit"):
            return Entry(provider, model, "unknown", NOTHING, NOWHERE, inferred=True, near=near)
        spelt = hit.spelt(model) if provider.spells else model
        model = provider.aliases.get(spelt, spelt)
        typed = "" if model == name.model else name.model
        model = self._prefixed(provider, model, hit.family)
        facts = provider.override.get(hit.family.name, hit.family.capability)
        if facts.shown == "ask" and model.startswith(provider.unshown):
            facts = replace(facts, shown="never")
        if hit.inferred and not facts.off:
            facts = replace(facts, tools="ok")  # a guess is no reason to take tools away
        placement = provider.placement.get(facts.style or "", NOWHERE)
        if provider.unshown and model.startswith(provider.unshown):
            placement = replace(placement, show=None, hide=None)
        return Entry(provider, model, hit.family.name, facts, placement, hit.inferred, near, typed)

    def provider(self, name: str) -> Provider:
        """Return a provider by its name; raises UnknownProvider."""
        if name not in self.catalog.providers:
            raise UnknownProvider(self._no_provider(name))
        return self.catalog.providers[name]

    def entries(self, provider: str | None = None) -> list[Entry]:
        """Return every catalogued model that is served, of one provider or of all."""
        if provider is not None:
            self.provider(provider)
        names = [provider] if provider else list(self.catalog.providers)
        return [
            self.entry(f"{name}:{model}")
            for name in names
            for group in self.catalog.providers[name].families
            for family in self.catalog.groups[group].family
            for model in family.match
            if model and "*" not in model and model not in self.catalog.providers[name].absent
        ]

    def _prefixed(self, provider: Provider, model: str, family: Family) -> str:
        """Return the name with its maker before it, where the provider wants that."""
        for group, prefix in provider.prefix.items():
            whole = len(_bare_names(model, provider.strip)) == 1  # nothing was before it
            if whole and family in self.catalog.groups[group].family:
                return f"{prefix}{model}"
        return model

    def _at(self, name: Name) -> tuple[Provider, "_Hit | None"]:
        provider = self.catalog.providers[name.provider or ""]
        return provider, self._search(provider, name.model)

    def _search(self, provider: Provider, model: str) -> "_Hit | None":
        model = provider.aliases.get(model, model)
        hits = [
            self._index(group).find(bare)
            for group in provider.families
            for bare in _bare_names(model, provider.strip)
        ]
        exact = [hit for hit in hits if hit and not hit.inferred]
        found = exact or [hit for hit in hits if hit]
        return max(found, key=lambda hit: hit.weight, default=None)

    def _bare(self, name: Name) -> tuple[Provider, "_Hit | None"]:
        model = name.model.lower()
        for provider in self.catalog.providers.values():
            if _claimed(model, provider.claims) or name.model in provider.aliases:
                return provider, self._search(provider, name.model)
        found = []
        for group in self.catalog.groups.values():
            if group.home is not None and group.home in self.catalog.providers:
                provider = self.catalog.providers[group.home]
                if hit := self._search(provider, name.model):
                    found.append((provider, hit))
        if not found:
            self._check_level(name.model)
            self._check_provider(name.model)
            raise UnknownModel(self._unknown(name.model))
        return max(found, key=lambda pair: (not pair[1].inferred, pair[1].weight))

    def _index(self, group: str) -> "_Index":
        if group not in self._groups:
            self._groups[group] = _Index(self.catalog.groups.get(group, Group()))
        return self._groups[group]

    def _check_level(self, text: str) -> None:
        """Raise the better error where the model is fine and only its level is misspelt."""
        cut = max(text.rfind("/"), text.rfind("@"))
        if cut <= 0 or is_wish(text[cut + 1 :], words=self._words):
            return
        name = self.split(text[:cut])
        try:
            _, hit = self._bare(name) if name.provider is None else self._at(name)
        except (UnknownModel, BadThinking):
            return
        if hit is not None and not hit.inferred and hit.family.match != ("",):
            parse(text[cut + 1 :], words=self._words)

    def _check_one_level(self, text: str, model: str, wish: str) -> None:
        """Raise BadThinking where a second level stands after a model that is known."""
        cut = max(model.rfind("/"), model.rfind("@"))
        first = model[cut + 1 :]
        if cut <= 0 or first.startswith("0") or not is_wish(first, words=self._words):
            return
        name = self.split(model[:cut])
        try:
            _, hit = self._bare(name) if name.provider is None else self._at(name)
        except UnknownModel:
            return
        if hit is not None and hit.weight:
            message = f"{text!r} names two levels, {first!r} and {wish!r}; give one"
            raise BadThinking(message)

    def _near(self, model: str, provider: Provider) -> str | None:
        names = [entry.model for entry in self.entries(provider.name)]
        digits = _NO_DIGIT.sub("", model)
        alike = [name for name in names if digits and _NO_DIGIT.sub("", name) == digits]
        if not alike:
            return None
        from difflib import get_close_matches  # noqa: PLC0415 - only where a name may be a slip

        return next(iter(get_close_matches(model.lower(), alike, n=1, cutoff=0.85)), None)

    def _misspelt(self, model: str, provider: Provider) -> bool:
        """Return whether a word of this name is nearly a known one; numbers may be new."""
        from difflib import get_close_matches  # noqa: PLC0415 - costs 5 ms, only for an error

        names = " ".join(entry.model for entry in self.entries(provider.name))
        known = set(_WORD.findall(names.lower()))
        swapped = {"".join(sorted(word)) for word in known}
        return any(
            word not in known
            and ("".join(sorted(word)) in swapped or get_close_matches(word, known, cutoff=0.8))
            for word in _WORD.findall(model.lower())
        )

    def close(self, model: str) -> list[str]:
        """Return catalogued names that are nearly this one, the nearest first."""
        from difflib import get_close_matches  # noqa: PLC0415 - costs 5 ms, only for an error

        names = sorted({entry.model for entry in self.entries()})
        return get_close_matches(model.lower(), names, n=3, cutoff=0.6)

    def _unknown(self, model: str, kind: str = "model ") -> str:
        entries = self.entries()
        if hosts := [entry.id for entry in entries if entry.model.lower() == model.lower()]:
            return f"{model!r} is served by several; say whose: {' or '.join(hosts)}"
        close = self.close(model)
        guess = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
        hint = f"see 'pondero models', or name its provider (ollama:{model})"
        return f"unknown {kind}{model!r}; {guess}{hint}"

    def _check_provider(self, model: str) -> None:
        """Raise the better error where the provider is unknown."""
        prefix, colon, rest = model.partition(":")
        if colon and rest and prefix.isidentifier():
            raise UnknownProvider(self._no_provider(prefix))

    def _no_provider(self, name: str) -> str:
        from difflib import get_close_matches  # noqa: PLC0415 - costs 5 ms, only for an error

        known = list(self.catalog.providers)
        close = get_close_matches(name, known, n=1)
        guess = f"did you mean {close[0]!r}? " if close else ""
        return f"unknown provider {name!r}; {guess}use {' '.join(known)}"


class _Hit(Struct, frozen=True):
    """A family found: the first ``weight`` characters of ``bare`` are ``name`` in the catalog."""

    family: Family
    weight: int
    inferred: bool = False
    name: str = ""
    bare: str = ""

    def spelt(self, model: str) -> str:
        """Return a model's name as the catalog spells it; what follows the known part is kept."""
        if not self.name or len(self.bare) > len(model):
            return model
        start = len(model) - len(self.bare)
        if model[start : start + self.weight] in self.family.match:
            return model
        rest = model[start + self.weight :]
        return f"{model[:start]}{self.name}{rest if ':' in rest else rest.lower()}"


class _Index:
    """The names of one group of families, ready to be searched."""

    def __init__(self, group: Group) -> None:
        self._plain: dict[str, tuple[Family, str]] = {}
        self._globs: list[tuple[re.Pattern[str], int, Family]] = []
        self._lines: dict[str, tuple[Family, str]] = {}
        for family in group.family:
            for name in family.match:
                pattern = _fold(name)
                if "*" in pattern:
                    glob = re.compile(
                        ".*".join(map(re.escape, pattern.split("*"))) + r"(?![0-9a-z])"
                    )
                    self._globs.append((glob, len(pattern), family))
                else:
                    self._plain[pattern] = (family, name)
            self._lines |= dict.fromkeys(map(_fold, family.newest_of), (family, ""))

    def find(self, model: str) -> _Hit | None:
        best = _longest(model, self._plain, versions=True)
        for glob, weight, family in self._globs:
            if (best is None or weight >= best.weight) and glob.match(model):
                best = _Hit(family, weight)
        if best is not None:
            return best
        line = _longest(model, self._lines, versions=False)
        return _Hit(line.family, line.weight, inferred=True) if line else None


def _longest(model: str, names: dict[str, tuple[Family, str]], *, versions: bool) -> _Hit | None:
    for end in range(len(model), -1, -1):
        found = names.get(model[:end])
        if found is not None and _ends(model, end, versions=versions):
            family, name = found
            return _Hit(family, end, name=name, bare=model)
    return None


def _ends(model: str, end: int, *, versions: bool) -> bool:
    """Return whether a name ends here; gpt-5 does not end in gpt-5.1, nor o3 in o3x."""
    if end in (0, len(model)):
        return True
    return bool(_BOUNDARY.match(model, end)) and not (versions and _VERSION.match(model, end))


def _claimed(model: str, claims: tuple[str, ...]) -> bool:
    """Return whether a bare name begins like one of these; ``*`` stands for anything between."""
    for claim in claims:
        first, *more = claim.split("*")
        if model.startswith(first) and all(each in model for each in more):
            return True
    return False


def _fold(name: str) -> str:
    return name.lower().replace(".", "-").replace("_", "-")


def _bare_names(model: str, strip: tuple[str, ...]) -> list[str]:
    """Return the name as it is, and without path, region and maker."""
    name = model.lower().lstrip("~")
    names = [_fold(name)]
    name = name.rpartition("/")[2]
    while prefix := next((p for p in strip if name.startswith(p) and name != p), None):
        name = name[len(prefix) :]
    return [*names, _fold(name)] if _fold(name) not in names else names
