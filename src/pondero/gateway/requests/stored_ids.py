"""Binds the ids of things that a provider stores to the client whose answer gave them.

All clients of a gateway share one account at the provider, which would hand any of them the answers
of the others.
"""

from collections.abc import Awaitable, Iterable, Mapping
from hashlib import blake2b
from typing import NamedTuple, NoReturn

from msgspec.structs import replace

from ...catalog import ModelEntry
from ...dialects import Rejected, StoredId, StoredIds, find_resource
from ...errors import NotFound, PermissionDenied
from ...exchange import Exchange
from ..config.deployment_names import name_home
from ..deployments.stored_homes import stay_at_home
from ..levels.stated_depth import find_last_level
from ..server.context import GatewayContext
from .kept_history import find_unknown
from .portability import is_same_dialect
from .routed_request import RoutedRequest, StoredLevel
from .split_body import make_search
from .translation import check_translatable

PROVIDER = b"provider"
"""The purpose of the record of which account has a thing that an endpoint made."""
_END = b"\0"  # between an owner, the level that its conversation ended with, and who set it
_GATEWAY = b"gateway"
_NO_CLIENT = b"-"  # the owner of a rejected answer
_UNKNOWN = b""  # the level of a conversation that began elsewhere


def begin_owners(
    gateway: GatewayContext, routed: RoutedRequest
) -> Awaitable[dict[str, bytes]] | None:
    """Begin to read whose the ids in a request are; None if this process knows it."""
    owners, homes = _list_record_keys(routed)
    keys = [*owners, *homes]
    latest = _needs_latest(routed)
    return gateway.shared.owners.begin(keys, latest=latest) if keys else None


async def check_stored_ids(
    gateway: GatewayContext,
    routed: RoutedRequest,
    reading: Awaitable[dict[str, bytes]] | None = None,
) -> RoutedRequest:
    """Reject ids that are not the client's, or that no model of the route can know.

    ``reading``: the owners, if ``begin_owners`` has begun to read them. Returns the request with
    the level that the stored conversation has set for itself. Raises Rejected, PermissionDenied
    and BadParameter.
    """
    rules, found = routed.service.stored_ids, routed.stored.named
    if not found:
        return routed
    if not any(is_same_dialect(routed, entry) for entry in routed.resolved.entries):
        lost = find_unknown(routed.stored) if routed.stored.said is not None else ()
        if rules is not None and lost:
            raise Rejected(rules.reject(lost[0]))
        check_translatable(routed)
    dialect = routed.call.client_dialect
    if not any(entry.provider.dialect == dialect for entry in routed.resolved.entries):
        found = tuple(each for each in found if each.is_address)
        if not found:
            return routed  # no other API is sent such an id
    key = routed.call.requester.key
    records, homes = await _load_records(gateway, routed, reading)
    if homes or routed.stored.makers:
        routed = stay_at_home(gateway, routed, {**routed.stored.makers, **homes})
    if key is not None and not key.account_state:
        others = [each for each in found if each.id not in routed.stored.known]
        _check_owners(routed, rules, others, records)
    else:
        _check_withdrawn(rules, found, records)
    _check_prompts(routed, found)
    if rules is None:
        return routed
    return replace(routed, stored_level=_find_level(rules, found, records))


def _check_owners(
    routed: RoutedRequest,
    rules: StoredIds | None,
    found: Iterable[StoredId],
    records: Mapping[str, bytes],
) -> None:
    client = routed.call.requester.id.encode()
    for each in found:
        stored = records.get(each.id)
        owner = (stored.partition(_END)[0] or None) if stored is not None else None
        is_open = owner is None and (each.has_content or each.is_shared)
        if each.of_account or (owner != client and not is_open):
            _reject(rules, each)


def _check_withdrawn(
    rules: StoredIds | None, found: Iterable[StoredId], records: Mapping[str, bytes]
) -> None:
    """Reject ids of answers that hooks rejected: no client has them, whatever it may name."""
    for each in found:
        if records.get(each.id) == _NO_CLIENT:
            _reject(rules, each)


def _reject(rules: StoredIds | None, each: StoredId) -> NoReturn:
    if rules is None or each.is_address:
        raise NotFound(describe_foreign_id(each.id), status=404)
    raise Rejected(rules.reject(each))


def describe_foreign_id(id: str) -> str:
    """Return why a key cannot name something: the same for unknown ids and those of others."""
    return f"{id!r} was not found: a key names only what it made itself"


def _check_prompts(routed: RoutedRequest, found: Iterable[StoredId]) -> None:
    """Raise PermissionDenied for a prompt of the account, which has settings of its own."""
    prompt = next((each for each in found if each.field == "prompt"), None)
    if prompt is not None and routed.rules.limits_models:
        message = (
            f"this key or route has rules, and the stored prompt {prompt.id!r} has settings that "
            "no rule limits; send its text"
        )
        raise PermissionDenied(message, status=403)


def _find_level(
    rules: StoredIds, found: Iterable[StoredId], records: Mapping[str, bytes]
) -> StoredLevel | None:
    """Return the level that a stored conversation ended with; None if none is named."""
    named = [each for each in found if each.field in rules.levels_at and not _is_plain(each)]
    # An item of an answer sets no level; only one that no answer gave may be such a turn.
    named = [each for each in named if not (each.is_item and each.id in records)]
    if not named:
        return None
    known = [records[each.id] for each in named if each.id in records]
    words = [record.split(_END)[1:] for record in known if _END in record]
    word, *setter = words[-1] if words else [None]
    is_known = len(known) == len(named) and word != _UNKNOWN
    return StoredLevel(
        named[0].id,
        word.decode() if word else None,
        is_known,
        is_ours=setter == [_GATEWAY],
    )


def _is_plain(each: StoredId) -> bool:
    """Return whether an id cannot stand for a turn that sets a level."""
    return each.may_be_dropped or each.is_shared or each.has_content


def _is_placed(each: StoredId) -> bool:
    """Return whether it matters which account has a thing."""
    return each.needs_account or each.is_optional


def _list_record_keys(routed: RoutedRequest) -> tuple[dict[str, str], dict[str, str]]:
    """Return the keys of the owners of ids, and of their homes, if the models have several."""
    ids = [each.id for each in routed.stored.named if not each.of_account]
    homes: dict[str, str] = {}
    if routed.conversation is not None:
        client = routed.call.requester.id
        # The answer that gave an id says it best, then the endpoint that made the thing.
        placed = [each.id for each in routed.stored.named if _is_placed(each)]
        homes |= {_make_named_key(id, client): id for id in placed}
        homes |= {make_stored_key(PROVIDER, id): id for id in placed}
        homes |= {make_home_key(id): id for id in ids}
    return {make_owner_key(id): id for id in ids}, homes


async def _load_records(
    gateway: GatewayContext,
    routed: RoutedRequest,
    reading: Awaitable[dict[str, bytes]] | None,
) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the clients whose answers gave these ids, and the levels that those ended with.

    Also the models that gave them, as routes name these.
    """
    owners, places = _list_record_keys(routed)
    keys = [*owners, *places]
    latest = _needs_latest(routed)
    known = await load_owners(gateway, keys, latest=latest, reading=reading)
    homes = {places[key]: read_place(home) for key, home in known.items() if key in places}
    return {owners[key]: owner for key, owner in known.items() if key in owners}, homes


def _needs_latest(routed: RoutedRequest) -> bool:
    return any(can_change_owner(each.id) for each in routed.stored.named)


def can_change_owner(id: str) -> bool:
    """Return whether an id is a name, which clients choose and may use again."""
    return find_resource(id) is not None


async def load_owners(
    gateway: GatewayContext,
    keys: Iterable[str],
    *,
    latest: bool,
    reading: Awaitable[dict[str, bytes]] | None = None,
) -> dict[str, bytes]:
    """Return the records of these names; ``latest``: others may have changed them.

    ``reading``: the records, if ``begin_owners`` has begun to read them.
    """
    names, stored = list(keys), gateway.shared.owners
    if reading is None and names:
        reading = stored.begin(names, latest=latest)
    if reading is None:
        return stored.find_known(names)
    return await reading if latest else {**stored.find_known(names), **await reading}


def make_recorder(
    gateway: GatewayContext, routed: RoutedRequest, exchange: Exchange, entry: ModelEntry | None
) -> "GivenIdRecorder | None":
    """Return what records the ids of an answer; None if their owners do not matter.

    ``entry`` is the model whose service has what these ids name; None if they are made up.
    """
    rules = routed.service.stored_ids
    if rules is None:
        return None
    level = _describe_level(routed, exchange) if rules.levels_at else b""
    # Of several deployments, only the one that gave an id knows it.
    is_placed = routed.conversation is not None or rules.forward is not None
    home = name_home(entry) if entry is not None and is_placed else None
    if (
        home is None
        and routed.call.requester.key is None
        and not _may_withdraw(routed)
        and not (rules.levels_at and (gateway.routing.binds or level.endswith(_END + _GATEWAY)))
    ):
        return None
    return GivenIdRecorder(routed, rules, level, home=home)


def _may_withdraw(routed: RoutedRequest) -> bool:
    return routed.hooked is not None and routed.hooked.reads_answers


class GivenIdRecorder:
    """Records the ids that an answer gives to a client; it sees the client's bytes.

    ``home``: the model that later requests with these ids have to go to, if there is one.
    """

    def __init__(
        self, routed: RoutedRequest, rules: StoredIds, level: bytes, *, home: str | None
    ) -> None:
        client = routed.call.requester.id
        self._rules = rules
        self._marks = rules.marks
        if _may_withdraw(routed):
            self._marks += rules.item_marks
        self._record = client.encode() + level
        self._home: bytes | None = None
        if home is not None:
            place = (client.encode(), home.encode(), routed.resolved.name.encode())
            self._home = _END.join(place)
        self._named: dict[str, bytes] = {}
        self._repeated: set[str] = set()
        if routed.stored.named:
            self._note_named(routed, home)
        self._is_answered = False
        wanted = any(map(make_search(routed.call.http.body), rules.answer_marks))
        self._find_answer = rules.find_answer if wanted else None
        self._ids: set[str] = set()
        self._homeless: set[str] = set()
        self._recorded: set[str] = self._repeated.copy()

    def _note_named(self, routed: RoutedRequest, home: str | None) -> None:
        named, client = routed.stored.named, routed.call.requester.id
        # A shared file that an answer repeats from its request is not made by it.
        self._repeated = {each.id for each in named if each.is_shared}
        # A thing that a client names is where a request with it was answered.
        if home is not None and routed.conversation is not None:
            known = {*routed.stored.known, *(id for id, _ in routed.bound)}
            self._named = {
                _make_named_key(each.id, client): home.encode()
                for each in named
                if _is_placed(each) and each.id not in known
            }

    def feed(self, data: bytes) -> None:
        """Take some whole lines of a stream."""
        self._is_answered = True
        marks = self._marks
        if self._find_answer is None and not any(mark in data for mark in marks):
            return
        for line in data.split(b"\n"):
            event = line.removeprefix(b"data:")
            if any(mark in line for mark in marks):
                self._ids.update(self._rules.find_given(event, stream=True))
            if self._find_answer is not None and line.startswith(b"data:"):
                self._ids.update(self._find_answer(event, stream=True))

    def take_whole(self, body: bytes) -> None:
        """Take an answer in one piece."""
        self._is_answered = True
        self._ids.update(self._rules.find_given(body, stream=False))
        if self._find_answer is not None:
            self._ids.update(self._find_answer(body, stream=False))

    @property
    def is_unsaved(self) -> bool:
        """Return whether there is something that ``record`` may store."""
        return bool(self._ids or self._homeless or self._named)

    async def record(self, gateway: GatewayContext, *, is_passed: bool = True) -> None:
        """Store whose they are, each once.

        ``is_passed``: no hook can reject the answer any more, so that it may be fetched.
        """
        if self._named and self._is_answered:
            named, self._named = self._named, {}
            await gateway.shared.owners.put(named)
        if not self._ids and not (is_passed and self._homeless):
            return
        ids, self._ids = self._ids - self._recorded, set()
        self._recorded |= ids
        records: dict[str, bytes] = {}
        for id in ids:
            records[make_owner_key(id)] = self._record
        if self._home is not None:
            self._homeless |= ids
            if is_passed:
                for id in self._homeless:
                    records[make_home_key(id)] = self._home
                self._homeless.clear()
        if records:
            await gateway.shared.put_given(records)

    async def withdraw(self, gateway: GatewayContext) -> None:
        """Store that no client has them: the answer was rejected when some had been given."""
        given = (self._ids | self._recorded) - self._repeated
        self._ids, self._homeless = set(), set()
        if given:
            self._recorded |= given
            await gateway.shared.owners.put({make_owner_key(id): _NO_CLIENT for id in given})


class StoredHome(NamedTuple):
    """Who was given an id, by which model, and under which name of the gateway's."""

    owner: str
    entry: str
    name: str


async def find_home(gateway: GatewayContext, id: str) -> StoredHome | None:
    """Return where a stored thing is; None if no answer gave its id."""
    key = make_home_key(id)
    found = (await gateway.shared.owners.get([key])).get(key)
    return None if found is None else _read_home(found)


def read_place(record: bytes) -> str:
    """Return where a thing is: the record of an answer's id has an owner and a name too."""
    return _read_home(record).entry if _END in record else record.decode()


def _read_home(record: bytes) -> StoredHome:
    return StoredHome(*record.decode().split(_END.decode(), 2))


def _describe_level(routed: RoutedRequest, exchange: Exchange) -> bytes:
    """Return the level with which a conversation ends, for the record; empty if it set none."""
    places, stored = routed.service.depth, routed.stored_level
    # A body of another API has no turns of this one.
    is_own = exchange.dialect == routed.call.client_dialect
    word = find_last_level(exchange.http.body, places) if is_own else None
    is_ours = word is not None and find_last_level(routed.call.http.body, places) is None
    if word is None and stored is not None:
        word, is_ours = stored.word, stored.is_ours
    if word is None:
        return b"" if stored is None or stored.is_known else _END + _UNKNOWN
    said = _END + word.encode("utf-8", "replace").replace(_END, b"?")
    return said + _END + _GATEWAY if is_ours else said


def make_owner_key(id: str) -> str:
    """Return the name of the record of who was given an id."""
    return make_stored_key(b"stored", id)


def make_home_key(id: str) -> str:
    """Return the name of the record of where the thing is that an answer's id names."""
    return make_stored_key(b"home", id)


def _make_named_key(id: str, client: str) -> str:
    """Return the name of the record of where a thing is that this client names."""
    return make_stored_key(b"named\0" + client.encode(), id)


def make_stored_key(purpose: bytes, id: str) -> str:
    """Return the name of a record about an id."""
    text = purpose + b"\0" + id.encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=18).hexdigest()
