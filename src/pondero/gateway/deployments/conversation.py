"""Recognises a conversation, so that it stays on the account that has its cache and signatures.

The client's own mark of it comes first, else its beginning. Either is bound to the client, so that
no key can move the conversations of another.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from ...canon import (
    Blob,
    HttpRequest,
    Image,
    Json,
    Message,
    Request,
    Text,
    get_decoder,
    get_path,
)
from ...catalog import ModelEntry
from ...dialects import Service

_HEADERS = ("x-session-id", "x-session-affinity")  # opencode 1.18; for every client
_FIELDS = get_decoder(dict[str, Raw])
_LONGEST = 512  # characters of a name of a conversation
_BEGINNING = 65_536  # characters of each text of a first question


class Conversation(Struct, frozen=True):
    """A conversation: the keys of its homes by provider, and the homes that are known.

    A home is the name of a deployment, or of the provider for its usual account; with a space and
    the account, by which it is found if it is renamed.
    ``is_stored``: its home has an answer that it names by id, so it stays there if it can.
    ``is_session``: its client named it, so other requests of it may run at the same time.
    """

    keys: Mapping[str, str]
    homes: Mapping[str, str] = {}
    is_stored: bool = False
    is_session: bool = False

    def find_home(self, entry: ModelEntry) -> str | None:
        """Return the deployment of this model's provider on which it is at home, if it has one.

        ``at_deployments`` has to come first.
        """
        return self.homes.get(entry.provider.name)

    def at_deployments(self, entries: Sequence[ModelEntry]) -> "Conversation":
        """Return it with its homes as deployments of these models, "" for the provider itself."""
        found: dict[str, str] = {}
        for entry in entries:
            provider = entry.provider.name
            name, space, account = self.homes.get(provider, "").partition(" ")
            if name and name == (entry.deployment or provider):
                found[provider] = entry.deployment
            elif space and account == (entry.signer or ""):
                found.setdefault(provider, entry.deployment)
        return replace(self, homes=found)

    def with_found(self, found: Mapping[str, bytes]) -> "Conversation":
        """Return it with the homes in these values of the shared state."""
        homes = {
            provider: found[key].decode() for provider, key in self.keys.items() if key in found
        }
        if not homes or self.is_stored:
            return self
        return replace(self, homes={**self.homes, **homes})

    def with_home(self, entry: ModelEntry) -> "Conversation":
        """Return it at home on the deployment of this model, which has what it names by id."""
        homes = {**self.homes, entry.provider.name: _name_home(entry)}
        return replace(self, homes=homes, is_stored=True)

    def with_usual(self, entry: ModelEntry) -> "Conversation":
        """Return it at home on the deployment of this model, if the state has no home."""
        if entry.provider.name in self.homes:
            return self
        return replace(self, homes={**self.homes, entry.provider.name: _name_home(entry)})

    def with_last(
        self, messages: Sequence[Message], entries: Sequence[ModelEntry]
    ) -> "Conversation":
        """Return it at home on the account that gave the last answer, if it is one of these.

        It has the cache and the signatures of this history. The home in the state may be that of
        another request of the session, such as a title's or a subagent's.
        """
        last = next((each.origin for each in reversed(messages) if each.origin is not None), None)
        if last is None or self.is_stored:
            return self
        home = f"{last.deployment or last.provider} {last.deployment or ''}"
        found = replace(self, homes={**self.homes, last.provider: home})
        return found if last.provider in found.at_deployments(entries).homes else self

    def list_changes(self, entry: ModelEntry) -> dict[str, bytes]:
        """Return what the shared state must learn after this model answered."""
        key, home = self.keys.get(entry.provider.name), _name_home(entry)
        if key is None or self.homes.get(entry.provider.name) == home:
            return {}
        return {key: home.encode()}


def _name_home(entry: ModelEntry) -> str:
    name = entry.deployment or entry.provider.name
    return name if entry.signer in (None, name) else f"{name} {entry.signer}"


def find_conversation(
    http: HttpRequest,
    request: Request,
    service: Service[Json],
    *,
    client: str,
    entries: Sequence[ModelEntry],
) -> Conversation | None:
    """Return the conversation of a request; None if none of its models has several deployments."""
    providers = list_balanced(entries)
    if not providers:
        return None
    session = _find_mark(http, service)
    mark = session or _digest_beginning(request)
    keys = {name: _make_key(name, mark, client=client) for name in providers}
    return Conversation(keys, is_session=session is not None)


def list_balanced(entries: Sequence[ModelEntry]) -> list[str]:
    """Return the providers of models that have several deployments among these."""
    if len(entries) < 2:
        return []
    seen: dict[tuple[str, str], set[str]] = {}
    for entry in entries:
        seen.setdefault((entry.provider.name, entry.model), set()).add(entry.deployment)
    return list(dict.fromkeys(name for (name, _), found in seen.items() if len(found) > 1))


def _find_mark(http: HttpRequest, service: Service[Json]) -> str | None:
    marks = service.conversation
    for name in (*marks.headers, *_HEADERS):
        if found := http.headers.get(name, "").strip():
            return f"header {found[:_LONGEST]}"
    for path in marks.fields:
        if f'"{path[0]}"'.encode() not in http.body:
            continue
        try:
            top = _FIELDS.decode(http.body).get(path[0])
            value = None if top is None else get_path({path[0]: msgspec.json.decode(top)}, path)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        if (named := marks.read(value)) is not None:
            return f"field {named[:_LONGEST]}"
    return None


def _digest_beginning(request: Request) -> str:
    """Return a digest of the first question, which stays the same in every later turn.

    System prompts do not: they tell the time, and name the tools of the moment.
    """
    first = next((each for each in request.messages if each.role == "user"), None)
    digest = blake2b(digest_size=18)
    for part in first.parts if first is not None else ():
        if isinstance(part, Text):
            digest.update(part.text[:_BEGINNING].encode("utf-8", "replace") + b"\0")
        elif isinstance(part, Image | Blob):
            digest.update((part.data or (part.url or "").encode("utf-8", "replace")) + b"\0")
    return f"beginning {digest.hexdigest()}"


def _make_key(provider: str, mark: str, *, client: str) -> str:
    said = f"{provider}\0{client}\0{mark}".encode("utf-8", "replace")
    return f"home:{blake2b(said, digest_size=18, person=b'deployment').hexdigest()}"
