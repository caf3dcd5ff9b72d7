"""Exchanges to findings: the rules of each wire, and what holds on all of them."""

import re
from collections.abc import Iterator

from msgspec import structs

from ...canon import Json, Thinking
from ...dialects import Given, Sent, Trap, dialect
from .past import Answers, plain, sealed_texts
from .report import Finding
from .seen import Seen

_OPAQUE = re.compile(r"[A-Za-z0-9+/_=-]{32,}")
_PROOF = re.compile(r"[A-Za-z0-9+/_=-]{64,}")  # longer than any id
_SCRUBBED = "REDACTED"  # what was there cannot be judged
_ABOUT_THINKING = frozenset({
    "thinking_missing", "thinking_lost", "call_unsealed", "calls_split", "follower_alone",
    "seal_cut", "seal_changed", "seal_misplaced", "thinking_as_text", "thinking_field_missing",
})  # fmt: skip


def judged(each: Seen, past: Answers) -> list[Finding]:
    """Return what is wrong with one request."""
    sent = Sent(
        body=each.body,
        past=past,
        provider=each.provider,
        known=each.known,
        facts=each.facts,
        quirks=each.quirks,
    )
    places = _places(each.body)
    cut = {trap.path: trap for trap in _cut(places, past)}
    found = [trap for trap in dialect(each.dialect).caller().traps(sent) if trap.path not in cut]
    found += cut.values()
    if not any(trap.code in _ABOUT_THINKING for trap in found):
        found += _lost(places, past)
    scrubbed = {path for path, text in places.items() if _SCRUBBED in text}
    return [_finding(trap, each) for trap in found if trap.path not in scrubbed]


def returned(each: Seen, past: Answers) -> int:
    """Return how many of the answers' proofs this request sends back as they came."""
    here = set(_places(each.body).values())
    return sum(1 for text in here if _OPAQUE.fullmatch(text) and past.of_seal(text))


def _finding(trap: Trap, each: Seen) -> Finding:
    return Finding(
        **structs.asdict(trap),
        exchange=each.number,
        line=each.line or None,
        dialect=each.dialect,
        model=each.model,
        status=each.status,
    )


def _cut(places: dict[str, str], past: Answers) -> Iterator[Trap]:
    for path, text in places.items():
        if not _OPAQUE.fullmatch(text) or past.of_seal(text):
            continue
        if given := past.cut(text):
            yield Trap(
                code="seal_cut",
                path=path,
                what=f"a proof of thinking is shorter than exchange {given.number} gave it",
                then="400: it does not verify",
                cure="keep it whole: in a stream it may come in pieces, in a column it may be cut",
            )


def _lost(places: dict[str, str], past: Answers) -> Iterator[Trap]:
    """Find answers whose call and its result are sent back while nothing of a seal of theirs is."""
    here = {plain(text) for text in places.values()}
    named: dict[str, str] = {}
    done: set[int] = set()
    for path, text in places.items():
        first = named.setdefault(text, path)
        given = past.of_call(text) if first != path else None
        if given is None or given.number in done:
            continue
        done.add(given.number)
        if _is_lost(given, here):
            yield Trap(
                code="thinking_lost",
                path=first,
                what=f"the call of exchange {given.number} is sent back without the thinking that "
                "led to it",
                then="it is taken; the model goes on without what it thought",
                cure="send the answer back whole, with all it was sealed with",
                refused=False,
            )


def _is_lost(given: Given, here: set[str]) -> bool:
    """Return whether thinking of an answer is not there; else, where calls are signed, a proof."""
    thoughts = [part for part in given.message.parts if isinstance(part, Thinking)]
    proofs = [texts for part in thoughts if (texts := sealed_texts(part))]
    if not proofs:
        longest = [max(sealed_texts(part), key=len, default="") for part in given.message.parts]
        proofs = [[text] for text in longest if _PROOF.fullmatch(text)]
    return any(here.isdisjoint(map(plain, texts)) for texts in proofs)


def _places(body: Json) -> dict[str, str]:
    """Return every text of a body by its place."""
    return dict(_walked(body, ""))


def _walked(value: Json, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _walked(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _walked(inner, f"{path}[{number}]")
