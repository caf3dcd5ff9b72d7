"""Finds the fields that an unknown model takes: which to try next, and the row that follows.

It sends nothing. The forms are the provider's own templates; each distinct one is tried once, and a
word that a rejection does not offer is not tried.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct, json, to_builtins

from ..thinking import (
    LEVELS,
    PROBED,
    Capability,
    Decision,
    Placement,
    parse_offered_levels,
    place_fields,
)

MOST_TRIALS = 24
"""The most requests of a discovery."""
NUMBER = 1_024
"""The number of tokens that is tried: the least that every service of numbers takes."""

TrialKind = Literal["unset", "level", "off", "budget", "on"]

_SAFE_FIRST = ("medium", "low", "high", "minimal", "xhigh", "max")
_GIVE_UP = 2  # words that are rejected without an offer: the field itself is unknown
_ORDER: tuple[TrialKind, ...] = ("off", "budget", "on")
# Off is seen to work; a word may be taken and ignored.
_WORTH: Mapping[str, int] = {"off": 8, "level": 4, "on": 2, "budget": 1}


class FieldTrial(Struct, frozen=True):
    """Fields to send once; trials of one ``form`` differ in their word alone."""

    kind: TrialKind
    word: str = ""
    fields: dict[str, Any] = {}
    form: bytes = b""


class DiscoveryAnswer(Struct, frozen=True):
    """What came of a trial; ``thought`` is None if the answer does not show it."""

    accepted: bool
    message: str = ""
    thought: bool | None = None


class Discovery:
    """Tries the forms of a provider's placements: none, words, off, a number, switches."""

    def __init__(self, placements: Mapping[str, Placement]) -> None:
        self.trials: list[tuple[FieldTrial, DiscoveryAnswer]] = []
        self._placements = placements
        self._left = _iter_trials(placements)
        self._skipped: set[tuple[bytes, str]] = set()

    def next_trial(self) -> FieldTrial | None:
        """Return what to send next; None at the end, or after the most requests."""
        if len(self.trials) >= MOST_TRIALS:
            return None
        return next((each for each in self._left if not self._is_skipped(each)), None)

    def see(self, trial: FieldTrial, answer: DiscoveryAnswer) -> None:
        """Take what came of a trial."""
        self.trials.append((trial, answer))
        if trial.kind != "level" or answer.accepted:
            return
        offered = parse_offered_levels(answer.message)
        before = [said.accepted for each, said in self.trials if each.form == trial.form]
        if offered or (len(before) >= _GIVE_UP and not any(before)):
            words = (word for word in _SAFE_FIRST if word not in offered)
            self._skipped |= {(trial.form, word) for word in words}

    def _is_skipped(self, trial: FieldTrial) -> bool:
        return (trial.form, trial.word) in self._skipped

    @property
    def thinks(self) -> bool | None:
        """Return whether any answer thought; None if none shows it."""
        seen = [self.has_thought(said) for _, said in self.trials if said.accepted]
        return True if True in seen else None if None in seen or not seen else False

    def has_thought(self, answer: DiscoveryAnswer) -> bool | None:
        """Return whether an answer thought; None if no answer shows its thinking."""
        if answer.thought is not None:
            return answer.thought
        return False if any(said.thought for _, said in self.trials) else None

    def taken_words(self, placement: Placement) -> tuple[str, ...]:
        """Return the words that a placement's form was accepted with, the weakest first."""
        form = encode_form(placement, "level")
        tried = (each for each in self.trials if each[0].kind == "level" and each[0].form == form)
        taken = {trial.word for trial, said in tried if said.accepted}
        return tuple(word for word in LEVELS if word in taken)

    def works(self, kind: TrialKind, placement: Placement) -> bool:
        """Return whether a form was accepted, and did what it says as far as that can be seen."""
        if getattr(placement, kind) is None:
            return False
        wrong = {"off": True, "on": False}.get(kind)  # what must not be seen of it
        form = encode_form(placement, kind)
        return any(
            said.accepted and (wrong is None or self.has_thought(said) is not wrong)
            for trial, said in self.trials
            if trial.kind == kind and trial.form == form
        )

    def best_style(self) -> str | None:
        """Return the placement of which most works; None if nothing does."""
        worth = {name: self._rate(each) for name, each in self._placements.items()}
        best = max(worth, key=lambda name: worth[name], default=None)
        return best if best is not None and worth[best] else None

    def _rate(self, placement: Placement) -> int:
        found = {
            "level": bool(self.taken_words(placement)),
            "off": self.works("off", placement),
            "on": self.works("on", placement),
            "budget": self.works("budget", placement),
        }
        return sum(_WORTH[kind] for kind, is_there in found.items() if is_there)


def make_model_row(
    found: Discovery, placements: Mapping[str, Placement], known: Capability, *, checked: str
) -> dict[str, Any]:
    """Return the facts of a row of models.toml; ``known`` has the range of numbers, if any."""
    facts: dict[str, Any] = {"evidence": "recorded", "source": PROBED, "checked": checked}
    if found.thinks is False:
        return {"thinks": False, "default": "off", **facts}
    style = found.best_style()
    if style is None:
        return {"default": _default(found), **facts}
    form = placements[style]
    row: dict[str, Any] = {"style": style, "off": found.works("off", form)}
    row["toggle"] = found.works("on", form)
    row["efforts"] = list(found.taken_words(form))
    if found.works("budget", form):
        budget = known.budget
        row["budget"] = to_builtins(budget) if budget else {"min": NUMBER, "max": 32 * NUMBER}
    return {**row, "default": _default(found), **facts}


def _default(found: Discovery) -> str:
    unset = next((said for trial, said in found.trials if trial.kind == "unset"), None)
    words: Mapping[bool | None, str] = {True: "on", False: "off"}
    return words.get(found.has_thought(unset) if unset else None, "unaudited")


def _iter_trials(placements: Mapping[str, Placement]) -> Iterator[FieldTrial]:
    yield FieldTrial("unset")
    for placement in _list_distinct_forms(placements, "level"):
        for word in _SAFE_FIRST:
            yield _make_trial(placement, "level", word)
    for kind in _ORDER:
        for placement in _list_distinct_forms(placements, kind):
            yield _make_trial(placement, kind)


def _list_distinct_forms(placements: Mapping[str, Placement], kind: TrialKind) -> list[Placement]:
    """Return the placements whose form of one kind differs; the fewest fields first."""
    forms = {
        encode_form(each, kind): each
        for each in reversed(list(placements.values()))
        if getattr(each, kind) is not None
    }
    return [forms[form] for form in sorted(forms, key=len)]


def _make_trial(placement: Placement, kind: TrialKind, word: str = "") -> FieldTrial:
    fields = _place(placement, kind, word)
    return FieldTrial(kind, word, fields, encode_form(placement, kind))


def encode_form(placement: Placement, kind: TrialKind) -> bytes:
    """Return a form with a blank for its word, to compare it with others."""
    words = placement.words if kind == "level" else {}
    return json.encode((_place(placement, kind, ""), words), order="sorted")


def _place(placement: Placement, kind: TrialKind, word: str) -> dict[str, Any]:
    effort = word if kind == "level" else None
    decision = Decision(kind, effort=effort, budget=NUMBER if kind == "budget" else None)
    return place_fields(decision, placement, {})
