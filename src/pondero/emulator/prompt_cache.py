"""The emulator's prompt cache: which part of a prompt was read before, and which is written.

The rules are the service's (``PromptPrefix.rules``); an account reads only what it wrote.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from threading import Lock
from typing import NamedTuple

from msgspec.structs import replace

from ..canon import Json, Usage
from ..dialects import AcceptedRequest, CacheReport, PromptPrefix
from .cache_diagnosis import CacheDiagnoses, make_fingerprint
from .prompt_places import CachePlace, find_places

_KEPT = 65_536  # entries


class CacheLookup(NamedTuple):
    """The usage with its cache counts, the report for the answer, and what stores the prompt.

    ``store`` is to be called when the answer begins: no other request finds the prompt before.
    """

    usage: Usage
    report: CacheReport
    store: Callable[[], None]


class _Entry(NamedTuple):
    expires: float
    seconds: float


class _Match(NamedTuple):
    """The longest prefix that was found, the places to write, and the entries that were read."""

    read: int
    written: list[CachePlace]
    hits: list[CachePlace]

    @property
    def end(self) -> int:
        """Return the tokens of the prefix that is in the cache after this request."""
        return max((place.tokens for place in self.written), default=self.read)


class PromptCache:
    """The prompts that one emulator has seen; the least recently used are forgotten first."""

    def __init__(self, clock: Callable[[], float], *, most: int = _KEPT) -> None:
        self._clock = clock
        self._most = most
        self._entries: OrderedDict[bytes, _Entry] = OrderedDict()
        self._diagnoses = CacheDiagnoses()
        self._lock = Lock()

    def look_up(
        self, accepted: AcceptedRequest[Json], usage: Usage, *, provider: str
    ) -> CacheLookup:
        """Split cache reads and writes off the usage."""
        prefix = accepted.prefix
        if prefix is None or prefix.rules.how == "none":
            return CacheLookup(usage, CacheReport(), _store_nothing)
        counted = replace(usage, cache_read=0, cache_write=0 if prefix.rules.writes else None)
        least = prefix.rules.find_minimum(accepted.request.model)
        given = usage.input or 0
        if given < least and prefix.diagnosis is None:
            return CacheLookup(counted, CacheReport(), _store_nothing)
        started = self._clock()
        places = find_places(accepted, prefix, provider)
        large = [place for place in places if place.tokens >= least]
        with self._lock:
            found = self._find(prefix, places, large, started)
        if found.end > given:  # a responder's own count, which is not of this prompt
            return CacheLookup(counted, CacheReport(), _store_nothing)
        writes = _split_writes(prefix, found)
        written = sum(writes.values())
        counted = replace(counted, input=given - found.read - written, cache_read=found.read)
        if prefix.rules.writes:
            counted = replace(counted, cache_write=written)
        fingerprint = make_fingerprint(accepted.request, prefix, found.end)
        report = self._diagnoses.explain(prefix, fingerprint, CacheReport(writes))

        def store() -> None:
            self._store(prefix, found, started)
            self._diagnoses.keep(prefix, fingerprint)

        return CacheLookup(counted, report, store)

    def clear(self) -> None:
        """Forget all prompts."""
        with self._lock:
            self._entries.clear()
        self._diagnoses.clear()

    def _find(
        self, prefix: PromptPrefix, places: list[CachePlace], large: list[CachePlace], now: float
    ) -> _Match:
        rules = prefix.rules
        marks = [place for place in large if place.mark is not None]
        if rules.how == "breakpoints":
            marks = marks[-rules.marks :]
            hits = self._find_before(places, marks, rules.look_back, now)
            read = max((place.tokens for place in hits), default=0)
            return _Match(read, [place for place in marks if place.tokens > read], hits)
        candidates = marks if prefix.explicit else large
        hits = [place for place in candidates if self._is_live(place, now)]
        read = max((_round_down(place, rules.step) for place in hits), default=0)
        if prefix.explicit:
            marks = marks[-rules.marks :]
            return _Match(read, [place for place in marks if place.tokens > read], hits)
        return _Match(read, [place for place in large if place.tokens > read], hits)

    def _find_before(
        self, places: list[CachePlace], marks: Iterable[CachePlace], look_back: int, now: float
    ) -> list[CachePlace]:
        """Return, for each breakpoint, the nearest entry at it or in the blocks before it."""
        hits = []
        for mark in marks:
            window = reversed(places[max(0, mark.block - look_back) : mark.block + 1])
            found = next((place for place in window if self._is_live(place, now)), None)
            hits += [found] if found is not None else []
        return hits

    def _is_live(self, place: CachePlace, now: float) -> bool:
        entry = self._entries.get(place.digest)
        return entry is not None and now < entry.expires

    def _store(self, prefix: PromptPrefix, found: _Match, started: float) -> None:
        with self._lock:
            for place in found.hits:
                self._keep(place.digest, started, 0.0)
            for place in found.written:
                ttl = place.mark.ttl if place.mark is not None else None
                seconds = prefix.rules.find_seconds(ttl or prefix.lifetime)
                self._keep(place.digest, started, seconds)

    def _keep(self, digest: bytes, started: float, seconds: float) -> None:
        """Write an entry, or give it its lifetime again."""
        known = self._entries.pop(digest, None)
        if known is None and not seconds:
            return  # forgotten since it was read
        lives = max(seconds, known.seconds if known is not None else 0.0)
        self._entries[digest] = _Entry(started + lives, lives)
        if len(self._entries) > self._most:
            self._entries.popitem(last=False)


def _store_nothing() -> None:
    """Store nothing."""


def _round_down(place: CachePlace, step: int) -> int:
    """Return the cached tokens; a breakpoint is not rounded to a step."""
    return place.tokens if place.mark is not None else place.tokens - place.tokens % step


def _split_writes(prefix: PromptPrefix, found: _Match) -> dict[str, int]:
    """Return the written tokens by lifetime: each breakpoint writes what follows the one before."""
    rules = prefix.rules
    if not rules.writes:
        return {}
    writes: dict[str, int] = {}
    begun = found.read
    for place in found.written:
        asked = (place.mark.ttl if place.mark is not None else None) or prefix.lifetime
        lifetime = asked if asked in rules.lifetimes else rules.lifetime
        end = _round_down(place, rules.step)
        if end > begun:
            writes[lifetime] = writes.get(lifetime, 0) + end - begun
            begun = end
    return writes
