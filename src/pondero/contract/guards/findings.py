"""Finds replay issues; a call id or a signature matches a request to an earlier answer."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct, structs

from ...canon import Json, Message, Part, Signature, Text, Thinking, ToolCall, UnknownPart
from ...dialects import EarlierAnswer, ReplayIssue, SentRequest, get_dialect
from .exchanges import GuardedExchange, Kind


class GuardFinding(Struct, frozen=True, kw_only=True):
    """One replay issue. ``refused``: the service rejects it; else thinking is lost silently.

    ``exchange`` counts from 1, None for the next request of a chat; ``path`` is in its body.
    """

    code: str
    exchange: int | None
    line: int | None
    path: str
    dialect: str
    model: str | None
    what: str
    then: str
    cure: str
    refused: bool = True
    status: int | None = None


class GuardReport(Struct, frozen=True, kw_only=True):
    """The report of one file. ``with_past`` exchanges send back an earlier answer.

    ``seals`` were sent back unchanged; ``explained`` are ``errors`` in which an issue was found.
    """

    name: str
    kind: Kind
    lines: int
    exchanges: int
    with_past: int
    seals: int
    dialects: tuple[str, ...]
    errors: int
    explained: int
    findings: tuple[GuardFinding, ...] = ()

    @property
    def problems(self) -> tuple[GuardFinding, ...]:
        """Return the issues that a service rejects."""
        return tuple(each for each in self.findings if each.refused)

    @property
    def losses(self) -> tuple[GuardFinding, ...]:
        """Return the issues that lose thinking silently."""
        return tuple(each for each in self.findings if not each.refused)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON values; the keys are a stable contract."""
        made: dict[str, Any] = msgspec.to_builtins(self)
        return made


_LONG = 20  # characters; a shorter text of a signature is a keyword of the wire
_SIGNED = Text | Thinking | ToolCall | UnknownPart


class AnswerIndex:
    """All answers of a file, found by their content; the order of the lines does not matter."""

    def __init__(self, exchanges: Iterable[GuardedExchange]) -> None:
        self._calls: dict[str, EarlierAnswer] = {}
        self._functions: dict[bytes, list[EarlierAnswer]] = {}
        self._signatures: dict[str, EarlierAnswer] = {}
        self._shared: set[str] = set()
        for each in exchanges:
            if each.answer is not None and each.answer.message.parts:
                self._add(each, each.answer.message)
        # A redacted file has the same placeholder everywhere, so it identifies no answer.
        for text in self._shared:
            self._calls.pop(text, None)
            self._signatures.pop(text, None)
        self._sorted = sorted(self._signatures)

    def by_call_id(self, id: str) -> EarlierAnswer | None:
        """Return the answer that made a call with this id."""
        return self._calls.get(id)

    def by_call(self, name: str, arguments: Json) -> Sequence[EarlierAnswer]:
        """Return the answers with this call, for services without call ids."""
        return self._functions.get(_fingerprint(name, arguments), ())

    def by_signature(self, text: str) -> EarlierAnswer | None:
        """Return the answer whose signature contains this text."""
        return self._signatures.get(plain(text))

    def cut(self, text: str) -> EarlierAnswer | None:
        """Return the answer with a signature that begins with this text and is longer."""
        short = plain(text)
        at = bisect_left(self._sorted, short)
        found = self._sorted[at] if at < len(self._sorted) else ""
        return self._signatures[found] if found.startswith(short) and found != short else None

    def _add(self, each: GuardedExchange, message: Message) -> None:
        given = EarlierAnswer(each.number, each.provider, each.model, each.body, message)
        for part in message.parts:
            if isinstance(part, ToolCall) and part.minted:
                self._functions.setdefault(_fingerprint(part.name, part.arguments), []).append(
                    given
                )
            elif isinstance(part, ToolCall):
                self._put(self._calls, part.id, given)
            for text in signature_texts(part):
                self._put(self._signatures, plain(text), given)

    def _put(self, where: dict[str, EarlierAnswer], text: str, given: EarlierAnswer) -> None:
        if where.setdefault(text, given).message.parts != given.message.parts:
            self._shared.add(text)


def signatures(parts: Iterable[Part]) -> Iterator[Signature]:
    """Yield the signatures of these parts."""
    for part in parts:
        if isinstance(part, _SIGNED) and part.signature is not None:
            yield part.signature


def signature_texts(part: Part) -> list[str]:
    """Return the texts of a part's signature that are long enough for a signature or an id."""
    return [
        text
        for signature in signatures([part])
        for text in iter_strings(signature.value)
        if len(text) >= _LONG
    ]


def iter_strings(value: Json) -> Iterator[str]:
    """Yield every text of a JSON value, keys excluded."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from iter_strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from iter_strings(inner)


def plain(text: str) -> str:
    """Return base64 in one alphabet, unpadded: some SDKs convert between the two."""
    return text.rstrip("=").replace("-", "+").replace("_", "/")


def _fingerprint(name: str, arguments: Json) -> bytes:
    try:
        return msgspec.json.encode([name, arguments or {}], order="deterministic")
    except (TypeError, ValueError, OverflowError, RecursionError):
        return name.encode("utf-8", "replace")


_OPAQUE = re.compile(r"[A-Za-z0-9+/_=-]{32,}")
_PROOF = re.compile(r"[A-Za-z0-9+/_=-]{64,}")  # longer than any id
_SCRUBBED = "REDACTED"  # the original text is unknown
_ABOUT_THINKING = frozenset({
    "thinking_missing", "thinking_lost", "call_unsealed", "calls_split", "follower_alone",
    "seal_cut", "seal_changed", "seal_misplaced", "thinking_as_text", "thinking_field_missing",
})  # fmt: skip


def find_issues(each: GuardedExchange, past: AnswerIndex) -> list[GuardFinding]:
    """Return the issues of one request."""
    sent = SentRequest(
        body=each.body,
        past=past,
        provider=each.provider,
        known=each.known,
        facts=each.facts,
        quirks=each.quirks,
    )
    places = _texts_by_path(each.body)
    cut = {issue.path: issue for issue in _iter_cut(places, past)}
    found = [
        issue
        for issue in get_dialect(each.dialect).replay_checks().find_issues(sent)
        if issue.path not in cut
    ]
    found += cut.values()
    if not any(issue.code in _ABOUT_THINKING for issue in found):
        found += _iter_losses(places, past)
    scrubbed = {path for path, text in places.items() if _SCRUBBED in text}
    return [_make_finding(issue, each) for issue in found if issue.path not in scrubbed]


def count_returned_signatures(each: GuardedExchange, past: AnswerIndex) -> int:
    """Return how many signatures of earlier answers this request sends back unchanged."""
    here = set(_texts_by_path(each.body).values())
    return sum(1 for text in here if _OPAQUE.fullmatch(text) and past.by_signature(text))


def _make_finding(issue: ReplayIssue, each: GuardedExchange) -> GuardFinding:
    return GuardFinding(
        **structs.asdict(issue),
        exchange=each.number,
        line=each.line or None,
        dialect=each.dialect,
        model=each.model,
        status=each.status,
    )


def _iter_cut(places: dict[str, str], past: AnswerIndex) -> Iterator[ReplayIssue]:
    for path, text in places.items():
        if not _OPAQUE.fullmatch(text) or past.by_signature(text):
            continue
        if given := past.cut(text):
            yield ReplayIssue(
                code="seal_cut",
                path=path,
                what=f"a proof of thinking is shorter than exchange {given.number} gave it",
                then="400: it does not verify",
                cure="keep it whole: a stream sends it in pieces, and a database column may cut it",
            )


def _iter_losses(places: dict[str, str], past: AnswerIndex) -> Iterator[ReplayIssue]:
    here = {plain(text) for text in places.values()}
    named: dict[str, str] = {}
    done: set[int] = set()
    for path, text in places.items():
        first = named.setdefault(text, path)
        given = past.by_call_id(text) if first != path else None
        if given is None or given.number in done:
            continue
        done.add(given.number)
        if _misses_signature(given, here):
            yield ReplayIssue(
                code="thinking_lost",
                path=first,
                what=f"the call of exchange {given.number} is sent back without the thinking that "
                "led to it",
                then="the service accepts it; the model continues without its earlier thinking",
                cure="send the answer back whole, with all it was sealed with",
                refused=False,
            )


def _misses_signature(given: EarlierAnswer, here: set[str]) -> bool:
    thinking_parts = [part for part in given.message.parts if isinstance(part, Thinking)]
    proofs = [texts for part in thinking_parts if (texts := signature_texts(part))]
    if not proofs:
        longest = [max(signature_texts(part), key=len, default="") for part in given.message.parts]
        proofs = [[text] for text in longest if _PROOF.fullmatch(text)]
    return any(here.isdisjoint(map(plain, texts)) for texts in proofs)


def _texts_by_path(body: Json) -> dict[str, str]:
    return dict(_iter_texts(body, ""))


def _iter_texts(value: Json, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _iter_texts(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _iter_texts(inner, f"{path}[{number}]")
