"""What a configuration of the gateway says, as values.

``config_file.load`` builds them from gateway.toml, ``config_file.from_environment`` without one;
``routing``, the dial at the gate and the server read them. A provider's key is a reference here
(``env:``, ``file:``, ``keyring:``), a client's key a hash: no secret is in these values.
"""

from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

REFERENCES = ("env:", "file:", "keyring:")
"""How a key is referred to; no key itself stands in the file."""
HASH = "sha256:"
"""How the hash of a client's key begins."""

_MIB = 1 << 20

Count = Annotated[int, Meta(ge=1)]
Amount = Annotated[float, Meta(gt=0)]
Seconds = Annotated[float, Meta(ge=0)]


class LevelRules(Struct, frozen=True, forbid_unknown_fields=True):
    """What a route or a key does to the level: words, or numbers of tokens as text."""

    default: str | None = None
    floor: str | None = None
    cap: str | None = None
    force: str | None = None


class SpendBudget(Struct, frozen=True, forbid_unknown_fields=True):
    """How much may be spent in a span of time: dollars, tokens, and tokens of thinking."""

    cost: Amount | None = None
    thinking_tokens: Count | None = None
    per: Literal["hour", "day", "week", "month"] = "month"
    tokens: Count | None = None

    @property
    def bounds(self) -> bool:
        """Return whether anything is bounded."""
        return any(most is not None for most in (self.cost, self.tokens, self.thinking_tokens))


class RateLimitRule(Struct, frozen=True, forbid_unknown_fields=True):
    """How much may be asked in any span of time of this length."""

    requests: Count | None = None
    tokens: Count | None = None
    per: Literal["second", "minute", "hour", "day"] = "minute"

    @property
    def bounds(self) -> bool:
        """Return whether anything is bounded."""
        return self.requests is not None or self.tokens is not None


class GatewayRoute(Struct, frozen=True, forbid_unknown_fields=True):
    """What happens to requests whose model is called ``match``: exact, or a glob.

    ``to`` are models in order of preference; ``retries`` are made before the next of them. Under
    ``strict`` an adjustment is a refusal. ``show`` is where the Chat wire puts thinking. ``budget``
    and ``limit`` hold for all who take this route together.
    """

    match: Annotated[str, Meta(min_length=1)]
    to: Annotated[tuple[str, ...], Meta(min_length=1)]
    thinking: LevelRules = LevelRules()
    retries: Annotated[int, Meta(ge=0, le=10)] = 2
    strict: bool = False
    show: Literal["reasoning_content", "reasoning", "both", "tags", "none"] | None = None
    budget: SpendBudget | None = None
    limit: RateLimitRule | None = None


class ProviderOverride(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a provider is, and a reference to its key, where they are not the usual ones."""

    url: str | None = None
    key: str | None = None


class GatewayKey(Struct, frozen=True, forbid_unknown_fields=True):
    """Who may come. ``models`` are names and globs of what it may ask for; none means all.

    An ``admin`` may also see the console and make keys.
    """

    name: Annotated[str, Meta(min_length=1)]
    hash: str
    thinking: LevelRules = LevelRules()
    models: tuple[str, ...] = ()
    budget: SpendBudget | None = None
    limit: RateLimitRule | None = None
    blocked: bool = False
    admin: bool = False


class ServerConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the gateway listens, where it stores shared state and records, and its limits.

    ``state`` is "memory" or a Redis address; ``ledger`` is "sqlite", "off" or a PostgreSQL
    address. Either may be a reference, because addresses may contain passwords.
    ``answer_cache_seconds`` and ``answer_cache_bytes`` limit the answers cached for clients that
    drop signatures. ``on_state_loss``: whether requests are answered while Redis is unreachable.
    ``log`` is "stderr", "off", or a file.
    """

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 8787
    state: str = "memory"
    ledger: str = "sqlite"
    workers: Annotated[int, Meta(ge=1, le=256)] = 1
    max_body: Count = 64 * _MIB
    answer_cache_seconds: Seconds = 3600
    answer_cache_bytes: Annotated[int, Meta(ge=0)] = 64 * _MIB
    drain_seconds: Seconds = 30
    on_state_loss: Literal["allow", "refuse"] = "allow"
    log: str = "stderr"


class GatewayConfig(Struct, frozen=True):
    """The whole configuration. ``path`` is its file, None where there is none.

    ``open`` are the providers whose models are served under pondero's own names; none where there
    are routes.
    """

    server: ServerConfig = ServerConfig()
    routes: tuple[GatewayRoute, ...] = ()
    providers: Mapping[str, ProviderOverride] = {}
    keys: tuple[GatewayKey, ...] = ()
    path: Path | None = None
    open: frozenset[str] = frozenset()

    @property
    def is_exposed(self) -> bool:
        """Return whether other machines could come without showing a key."""
        return not self.keys and not is_loopback(self.server.host)


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a host."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
