"""Reads a public list of models in the format of models.dev."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..canon import decode_json
from ..errors import BadCatalog
from ..thinking import LEVELS, BudgetRange, Capability, Placement
from .lookup import ModelEntry
from .schema import Provider

_OFF = ("none", "off")


class ListedLimits(Struct, frozen=True, omit_defaults=True):
    """A model's limits in tokens, 0 if the list has none."""

    context: int = 0
    output: int = 0


class ListedControl(Struct, frozen=True, omit_defaults=True):
    """One thinking control of the list: a switch, words, or a range of tokens."""

    type: Literal["toggle", "effort", "budget_tokens"]
    values: tuple[str | None, ...] = ()
    min: int | None = None
    max: int | None = None


class ListedThinking(Struct, frozen=True):
    """A model's thinking in the list; None for a fact that it lacks."""

    thinks: bool
    off: bool | None = None
    words: tuple[str, ...] | None = None
    budget: tuple[int | None, int | None] | None = None


class ListedModel(Struct, frozen=True, omit_defaults=True):
    """One model of the list; ``takes`` has single words that it accepts or rejects."""

    reasoning: bool = False
    reasoning_options: tuple[ListedControl, ...] | None = None
    limit: ListedLimits = ListedLimits()
    status: str | None = None
    last_updated: str = ""
    takes: Mapping[str, bool] = {}

    @property
    def control(self) -> ListedThinking:
        """Return the model's thinking."""
        if not self.reasoning or self.reasoning_options is None:
            return ListedThinking(self.reasoning)
        off, budget = False, None
        words: tuple[str, ...] = ()
        for option in self.reasoning_options:
            values = [value for value in option.values if value]
            off = off or option.type == "toggle" or any(value in _OFF for value in values)
            if option.type == "effort":
                words = tuple(level for level in LEVELS if level in values and level != "off")
            if option.type == "budget_tokens":
                off = off or option.min == 0
                budget = (option.min or None, option.max)
        return ListedThinking(self.reasoning, off, words, budget)


class ListedProvider(Struct, frozen=True, omit_defaults=True):
    """One provider of the list."""

    models: dict[str, ListedModel]


class PublicList(Struct, frozen=True):
    """A whole list: its name, its date, its providers by name."""

    name: str
    date: str
    providers: dict[str, ListedProvider]


def read_listing(text: bytes, name: str = "models.dev") -> PublicList:
    """Parse a list; a downloaded one is as old as its newest entry. Raises BadCatalog."""
    try:
        plain = decode_json(text, dict[str, Any])
        if "providers" in plain and "date" in plain:
            return decode_json(text, PublicList)
        found = decode_json(text, dict[str, ListedProvider])
    except msgspec.ValidationError as error:
        raise BadCatalog(f"this is JSON, but no list of models: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        begins = text[:200].decode("utf-8", "replace").strip()
        what = "a web page" if begins.startswith("<") else f"no JSON: it begins {begins[:40]!r}"
        raise BadCatalog(f"a list of models is JSON; this is {what}") from None
    if not found:
        raise BadCatalog("this list of models is empty")
    dates = (model.last_updated for seller in found.values() for model in seller.models.values())
    return PublicList(name, max(dates, default=""), found)


def trim_list(theirs: PublicList, keep: Mapping[str, tuple[str, ...]]) -> bytes:
    """Return the compared facts of these providers as JSON, one model a line."""
    parts = []
    for name in sorted(keep):
        if name not in theirs.providers:
            continue
        rows = ",\n".join(
            f"{_json(model)}:{_json(replace(listed, last_updated=''))}"
            for model, listed in sorted(theirs.providers[name].models.items())
        )
        parts.append(f'{_json(name)}:{{"models":{{\n{rows}}}}}')
    head = f'{{"name":{_json(theirs.name)},"date":{_json(theirs.date)},"providers":{{\n'
    whole = ",\n".join(parts)
    return f"{head}{whole}}}}}\n".encode()


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def facts_of(listed: ListedModel, entry: ModelEntry, source: PublicList) -> Capability | None:
    """Return a listed model's facts, with the rest from ``entry``; None without a control."""
    control, base = listed.control, entry.capability
    marks = {"evidence": "list", "source": f"{source.name}", "checked": source.date}
    if not control.thinks:
        tolerated = base.tolerates if not base.thinks else ()
        return Capability(thinks=False, default="off", tolerates=tolerated, **marks)  # type: ignore[arg-type]  # evidence is one of its words
    if control.off is None or control.words is None or not base.thinks:
        return None
    budget = _budget(control, base)
    plain = not (control.off or control.words or budget)
    style = base.style if plain else _style(entry, control, budget)
    if style is None and not plain:
        return None
    return replace(
        base,
        style=style,
        toggle=entry.provider.placement[style].on is not None if style else base.toggle,
        off=control.off,
        efforts=control.words,
        tolerates=tuple(word for word in base.tolerates if word not in control.words),
        steps={},
        budget=budget,
        default=_default(control, base),
        **marks,
    )


def _budget(control: ListedThinking, base: Capability) -> BudgetRange | None:
    """Return the token range; None if neither the list nor the relative has both ends."""
    if control.budget is None:
        return None
    least, most = control.budget
    known = base.budget
    least = least or (known.min if known else None)
    most = most or (known.max if known else None)
    if least is None or most is None or least > most:
        return None
    if known is not None:
        return replace(known, min=least, max=most, base=None, nominal=None)
    return BudgetRange(min=least, max=most)


def _style(entry: ModelEntry, control: ListedThinking, budget: BudgetRange | None) -> str | None:
    styles: Mapping[str, Placement] = entry.provider.placement
    own = entry.capability.style
    if own is None:
        return None
    fit = [name for name, placement in styles.items() if _says(placement, control, budget)]
    return own if own in fit else next(iter(fit), None)


def _says(placement: Placement, control: ListedThinking, budget: BudgetRange | None) -> bool:
    needs = (
        (bool(control.off), placement.off),
        (bool(control.words), placement.level),
        (budget is not None and not control.words, placement.budget),
        (not control.words and budget is None, placement.on),
    )
    return all(there is not None for needed, there in needs if needed)


def _default(control: ListedThinking, base: Capability) -> str:
    fixed = base.default in ("on", "dynamic", "unaudited")
    possible = fixed or base.default in (control.words or ())
    return base.default if possible or (base.default == "off" and control.off) else "unaudited"


def providers_of(
    seller: str, ours: Mapping[str, tuple[str, ...]], known: Mapping[str, Provider]
) -> list[str]:
    """Return our providers for one of the list's, without servers that users run themselves."""
    return [name for name in ours.get(seller, ()) if name in known and not known[name].start]
