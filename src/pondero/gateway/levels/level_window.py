"""Keeps the prompt cache of a client that changes its level in mid-conversation.

A level at the top of a request is rendered into the beginning of the prompt: a change there costs
the whole cache. If the model takes a level inside the conversation, the request keeps the level
that the conversation began with. The change is sent as a turn of its own, which stays in its place
in all later requests (wires/in-band). The bytes of the other turns stay as they are.
"""

import re
from collections.abc import Awaitable, Mapping, Sequence
from functools import lru_cache

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from ...canon import Json, get_decoder, get_path
from ...catalog import ModelEntry
from ...dialects import LevelTurns, get_dialect
from ...exchange import can_state_inside, with_fields, with_list_headers
from ...thinking import Adjustment, depth_paths
from ..requests.attempt import Attempt
from ..requests.routed_request import RoutedRequest, StoredLevel
from ..requests.split_body import read_fields
from ..server.context import GatewayContext
from .level_rules import AppliedLevel, limit_word
from .sent_turns import FirstKeys, SentTurns, find_first_keys, list_level_keys, read_turns

_TURN = get_decoder(dict[str, Json])


class StatedLevels(Struct, frozen=True, array_like=True):
    """The levels of a conversation: that of its first request, and the later ones by place.

    ``mode`` are the other settings of thinking. A place is the number of turns before it.
    ``unbound``: between these places, answers are sent without their thinking, whose signatures
    cover levels that are not sent any more.
    """

    base: str | None
    mode: str
    updates: tuple[tuple[int, str], ...] = ()
    unbound: tuple[int, int] = (0, 0)


_STATED = msgspec.msgpack.Decoder(StatedLevels)


async def keep_level_window(
    gateway: GatewayContext, routed: RoutedRequest, attempt: Attempt
) -> Attempt:
    """Return the attempt with a changed level inside the conversation, if the model takes it."""
    window = begin_reading(gateway, plan_level_window(gateway, routed, attempt))
    return await finish_level_window(gateway, window)


class LevelReading(Struct, frozen=True):
    """An attempt whose earlier levels are being read; without ``sent``, it is ready.

    ``keys`` are those of the conversation after each of its last turns, the newest last.
    """

    attempt: Attempt
    sent: SentTurns | None = None
    form: LevelTurns | None = None
    keys: tuple[str, ...] = ()
    reading: Awaitable[dict[str, bytes]] | None = None

    def has_keys_of(self, window: "LevelReading") -> bool:
        """Return whether the earlier levels of another attempt are among those being read."""
        return self.reading is not None and set(window.keys[:-1]) <= set(self.keys[:-1])


def begin_reading(gateway: GatewayContext, window: LevelReading) -> LevelReading:
    """Begin to read the levels of a conversation, with the other commands of this step."""
    if len(window.keys) < 2:  # nothing came before
        return window
    return replace(window, reading=gateway.memory.begin(window.keys[:-1], latest=True))


def plan_level_window(
    gateway: GatewayContext, routed: RoutedRequest, attempt: Attempt
) -> LevelReading:
    """Find out which levels of a conversation have to be read."""
    entry, http = attempt.entry, attempt.exchange.http
    form = get_dialect(entry.provider.dialect).caller().level_turns
    if form is None or not entry.takes_level_turns:
        return LevelReading(attempt)
    owner, client = _name_owner(routed, entry), routed.call.http.body
    if (sent := read_turns(http.body, entry, client=client, owner=owner)) is None:
        return LevelReading(attempt)
    if routed.stored_level is not None:  # only some of the turns are in this request
        ready = attempt if sent.own else _restate(routed.stored_level, sent, form, attempt)
        return LevelReading(ready)
    keys = list_level_keys(gateway.conversations, sent, client=client, owner=owner)
    return LevelReading(attempt, sent, form, keys)


class FirstTurn(Struct, frozen=True):
    """The only turn of conversations that differ in its text alone, and what is stored of each."""

    keys: FirstKeys
    stated: bytes

    def remember(self, text: bytes) -> dict[str, bytes]:
        """Return what the answer to a conversation with this text stores."""
        return {self.keys.find(text): self.stated}


def find_first_turn(routed: RoutedRequest, window: LevelReading, text: bytes) -> FirstTurn | None:
    """Return the only turn of a conversation, around this text; None if there is more to it."""
    sent, form, attempt = window.sent, window.form, window.attempt
    if sent is None or form is None or len(sent.turns) != 1 or sent.own or sent.is_split:
        return None
    keys = find_first_keys(sent.turns[0], text, _name_owner(routed, attempt.entry))
    if keys is None:
        return None
    return FirstTurn(keys, msgspec.msgpack.encode(_continue(None, sent, form, attempt)))


def _name_owner(routed: RoutedRequest, entry: ModelEntry) -> str:
    return f"{routed.call.requester.id}\n{entry.id}"


async def finish_level_window(gateway: GatewayContext, window: LevelReading) -> Attempt:
    """Return the attempt with its levels in their places; its answer stores what they are now."""
    attempt, sent, form = window.attempt, window.sent, window.form
    if sent is None or form is None:
        return attempt
    earlier = window.keys[:-1]  # the same turns again, with another level, are another conversation
    found = gateway.memory.find_known(earlier) if window.reading is None else await window.reading
    known = next((found[key] for key in reversed(earlier) if key in found), None)
    before = None if known is None else _STATED.decode(known)
    if sent.own and (before is None or not (before.updates or before.unbound[1])):
        return attempt  # the client sets levels inside the conversation itself
    stated = _continue(before, sent, form, attempt)
    attempt = replace(attempt, remembered={window.keys[-1]: msgspec.msgpack.encode(stated)})
    changes = stated.updates or stated.unbound != (0, 0)
    return _write_turns(attempt, sent, form, stated) if changes else attempt


def _restate(stored: StoredLevel, sent: SentTurns, form: LevelTurns, attempt: Attempt) -> Attempt:
    """Return the attempt with its level in a turn, if we set another one in the conversation.

    The service applies that one until a turn replaces it, whatever is at the top.
    """
    entry = attempt.entry
    settings = _read_settings(sent, entry)
    word = get_path(settings, form.at)
    base = word if isinstance(word, str) else None
    wanted = base or _find_default(entry)
    if not stored.is_ours or wanted in (None, stored.word):
        return attempt
    if not _takes_turns(settings, form) or not can_state_inside(entry, (), settings):
        return attempt
    stated = StatedLevels(base, "", ((len(sent.turns), str(wanted)),))
    return _write_turns(attempt, sent, form, stated)


def _read_settings(sent: SentTurns, entry: ModelEntry) -> dict[str, Json]:
    """Return the fields that a window depends on."""
    names = _list_settings(entry)
    return {name: msgspec.json.decode(sent.fields[name]) for name in names if name in sent.fields}


def _continue(
    before: StatedLevels | None, sent: SentTurns, form: LevelTurns, attempt: Attempt
) -> StatedLevels:
    """Return the levels of the conversation with this request.

    A level that cannot be said inside the conversation begins another window at the top.
    """
    entry, level = attempt.entry, attempt.level
    settings = _read_settings(sent, entry)
    word = get_path(settings, form.at)
    fresh = StatedLevels(word if isinstance(word, str) else None, _read_mode(settings, entry, form))
    wanted = fresh.base or _find_default(entry)
    if before is None:
        return fresh
    fresh = replace(fresh, unbound=_find_unbound(before, sent, entry))
    if before.mode != fresh.mode or wanted is None:
        return fresh
    stated = (before.base or _find_default(entry), *(said for _, said in before.updates))
    levels = _find_levels(entry, (*stated, wanted))
    if not _takes_turns(settings, form) or not can_state_inside(entry, levels, settings):
        return fresh
    if not _allows(entry, level.bounds, levels):
        return fresh
    current, last = stated[-1], max((place for place, _ in before.updates), default=0)
    if wanted == current or max(sent.own, default=-1) >= last:  # the client's own turn says it
        return before
    if form.waits_after is not None and form.waits_after(_TURN.decode(sent.turns[-1])):
        return fresh  # the level is asked for now
    return replace(before, updates=(*before.updates, (len(sent.turns), wanted)))


def _find_unbound(before: StatedLevels, sent: SentTurns, entry: ModelEntry) -> tuple[int, int]:
    """Return between which places another window sends answers without their thinking."""
    if not entry.binds_prefix or not before.updates:
        return before.unbound
    start, end = before.unbound
    first = before.updates[0][0]
    return (min(start, first) if end else first), len(sent.turns)


@lru_cache(maxsize=512)
def _list_settings(entry: ModelEntry) -> frozenset[str]:
    """Return the names of the fields that a window depends on."""
    form = get_dialect(entry.provider.dialect).caller().level_turns
    own = () if form is None else (*(path for path, _ in form.needs), form.at)
    excluded = (re.split("[.=]", field)[0] for field in entry.provider.in_band_without)
    return frozenset((*(path[0] for path in (*depth_paths(entry.placement), *own)), *excluded))


@lru_cache(maxsize=512)
def _list_modes(entry: ModelEntry, level_at: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the paths of the settings of thinking other than the level."""
    return tuple(sorted({path for path in depth_paths(entry.placement) if path != level_at}))


def _read_mode(settings: Mapping[str, Json], entry: ModelEntry, form: LevelTurns) -> str:
    """Return the settings of thinking other than the level, as a text to compare."""
    paths = _list_modes(entry, form.at)
    return msgspec.json.encode([get_path(settings, path) for path in paths]).decode()


def _find_default(entry: ModelEntry) -> str | None:
    """Return the level of a request that states none; None if it is not one of the words."""
    usual = entry.capability.default
    return usual if usual in entry.capability.efforts else None


def _takes_turns(settings: Mapping[str, Json], form: LevelTurns) -> bool:
    return all(get_path(settings, path) in values for path, values in form.needs)


def _find_levels(entry: ModelEntry, words: Sequence[str | None]) -> list[str | None]:
    """Return the levels that the service has these words for; None for a word that is no level."""
    names = entry.placement.words
    own = {names.get(level, level): level for level in entry.capability.efforts}
    return [None if word is None else own.get(word) for word in words]


def _allows(entry: ModelEntry, level: AppliedLevel, levels: Sequence[str | None]) -> bool:
    """Return whether each level is within the rules of now.

    The rule of a purpose is for the newest turn alone, whose level it has already set.
    """
    return all(each is not None and limit_word(each, entry, level) == each for each in levels)


def _write_turns(
    attempt: Attempt, sent: SentTurns, form: LevelTurns, stated: StatedLevels
) -> Attempt:
    """Return the attempt with its levels in their places, and the first one at the top."""
    # Two such turns in a row are one: the client's.
    places = {place: word for place, word in stated.updates if place not in sent.own}
    turns: list[bytes] = []
    dropped = 0
    for number in range(len(sent.turns) + 1):
        if number in places:
            turns.append(msgspec.json.encode(form.write(places[number])))
        for turn in sent.turns[number : number + 1]:
            is_unbound = stated.unbound[0] <= number < stated.unbound[1]
            turns.append(_drop_thinking(turn, form) if is_unbound else turn)
            dropped += turns[-1] is not turn
    exchange, plan, level = attempt.exchange, attempt.exchange.plan, attempt.level
    fields = read_fields(exchange.http.body)
    body = msgspec.json.encode({**fields, sent.name: Raw(b"[%b]" % b",".join(turns))})
    if dropped:
        plan = replace(plan, adjustments=(*plan.adjustments, _note_unbound(dropped)))
    http = replace(exchange.http, body=body)
    if not places:
        return replace(attempt, exchange=replace(exchange, http=http, plan=plan))
    body = with_fields(body, (form.at,), {} if stated.base is None else _nest(form.at, stated.base))
    http = replace(http, body=body, headers=with_list_headers(http.headers, form.headers))
    if sent.own:
        return replace(attempt, exchange=replace(exchange, http=http, plan=plan))
    notes = (note for note in plan.adjustments if note.code != "cache_lost")
    plan = replace(plan, adjustments=(*notes, _note_kept(stated)))
    return replace(
        attempt,
        exchange=replace(exchange, http=http, plan=plan),
        level=level if level.why else replace(level, why="in_band"),
    )


def _drop_thinking(turn: bytes, form: LevelTurns) -> bytes:
    if form.drop_thinking is None:
        return turn
    decoded = _TURN.decode(turn)
    kept = form.drop_thinking(decoded)
    return turn if kept is decoded else msgspec.json.encode(kept)


def _note_unbound(dropped: int) -> Adjustment:
    why = "its signature covers a change of level that is not sent any more"
    return Adjustment("signature_withheld", "history", dropped, None, why)


def _nest(path: Sequence[str], value: Json) -> dict[str, Json]:
    for key in reversed(path):
        value = {key: value}
    nested: dict[str, Json] = value
    return nested


def _note_kept(stated: StatedLevels) -> Adjustment:
    word = stated.updates[-1][1]
    why = (
        f"{word} is set inside the conversation; the request still says "
        f"{stated.base or 'nothing'}, so that the prompt stays in the cache"
    )
    return Adjustment("cache_kept", "cache", word, "kept", why)
