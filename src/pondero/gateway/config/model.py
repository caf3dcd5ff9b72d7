"""The gateway's configuration as values.

``reader`` builds them from gateway.toml or the environment. They contain no secret: a provider's
key is a reference (``env:``, ``file:``, ``keyring:``), a client's key a hash.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from ...store import holds_secret

REFERENCES = ("env:", "file:", "keyring:")
"""Kinds of key references; the file contains no key itself."""
HASH = "sha256:"
"""Prefix of the hash of a client's key."""

LONGEST_KEY_NAME = 128
"""Maximum characters of a key's name, which is in every record and a label of the metrics."""

_MIB = 1 << 20

Count = Annotated[int, Meta(ge=1)]
MOST_COST = 1e9
"""Maximum dollars of a budget; the counters are whole numbers of a billionth."""
Amount = Annotated[float, Meta(gt=0, le=MOST_COST)]
Weight = Annotated[float, Meta(gt=0, le=1e6)]
Seconds = Annotated[float, Meta(ge=0, le=10 * 365 * 86_400)]
_YEARS = range(2000, 9999)  # of an expiry: every time zone can show it

Share = Annotated[float, Meta(gt=0, le=1)]

ALERT_KINDS = (
    *("dial_deaf", "thinks_though_off", "exhausted"),
    *("budget_nearly_used", "budget_without_room", "breaker_open", "upstream_failing"),
    *("key_expires", "state_away", "ledger_away"),
)
"""The kinds of alerts."""

MAIN = "main"
"""The purpose of a request that nothing else is known of: the conversation itself."""
PURPOSES = ("title", "summary", "compact", "classify", "subagent", "tool_result", MAIN)
"""What clients send requests for. ``tool_result``: the answer is the result of a client's tool."""


class LevelRules(Struct, frozen=True, forbid_unknown_fields=True):
    """What a route or a key does to the level: words, or numbers of tokens as text."""

    default: str | None = None
    floor: str | None = None
    cap: str | None = None
    force: str | None = None

    @property
    def binds(self) -> bool:
        """Return whether a level must hold, whatever a client asks for."""
        return self.floor is not None or self.cap is not None or self.force is not None


class SpendBudget(Struct, frozen=True, forbid_unknown_fields=True):
    """Maximum dollars, tokens and thinking tokens per calendar period."""

    cost: Amount | None = None
    thinking_tokens: Count | None = None
    per: Literal["hour", "day", "week", "month"] = "month"
    tokens: Count | None = None

    @property
    def bounds(self) -> bool:
        """Return whether it has a maximum."""
        return any(most is not None for most in (self.cost, self.tokens, self.thinking_tokens))


class RateLimitRule(Struct, frozen=True, forbid_unknown_fields=True):
    """Maximum requests and tokens in any time span of this length."""

    requests: Count | None = None
    tokens: Count | None = None
    per: Literal["second", "minute", "hour", "day"] = "minute"

    @property
    def bounds(self) -> bool:
        """Return whether it has a maximum."""
        return self.requests is not None or self.tokens is not None


Balance = Literal["sticky", "order", "spread"]
"""``sticky``: a conversation stays where it is; ``order``: one after another."""


class GatewayRoute(Struct, frozen=True, forbid_unknown_fields=True):
    """The models for requests whose model name matches ``match``, a name or a glob.

    ``to``: models in order of preference; ``retries``: per model, before the next. ``strict``:
    reject a request instead of adjusting it. ``show``: where the Chat API puts thinking. ``budget``
    and ``limit`` apply to all requests on this route together. ``on_exhausted``: whether an answer
    that is all thinking is asked for again, with more room or one level lower. ``balance``: how
    requests are shared by several deployments of one model. ``first_byte_seconds``: how long a
    model may send nothing before it has failed.
    """

    match: Annotated[str, Meta(min_length=1)]
    to: Annotated[tuple[str, ...], Meta(min_length=1)]
    thinking: LevelRules = LevelRules()
    retries: Annotated[int, Meta(ge=0, le=10)] = 2
    strict: bool = False
    show: Literal["reasoning_content", "reasoning", "both", "tags", "none"] | None = None
    budget: SpendBudget | None = None
    limit: RateLimitRule | None = None
    on_exhausted: Literal["retry", "tell"] = "tell"
    balance: Balance = "sticky"
    first_byte_seconds: Annotated[float, Meta(gt=0, le=3600)] | None = None


class RuleMatch(Struct, frozen=True, forbid_unknown_fields=True):
    """The requests that a rule is for: all that is said must hold.

    ``model``: the requested name; ``route``: the ``match`` of its route; ``key``: the name of the
    client's key. Each is a name or a glob.
    """

    purpose: str | None = None
    client: str | None = None
    model: str | None = None
    route: str | None = None
    key: str | None = None


class PurposeRule(Struct, frozen=True, forbid_unknown_fields=True):
    """The level, and perhaps the models, of requests with a purpose; the first that matches wins.

    What route and key say overrides it. ``name`` is in headers and records; without one it is made
    of what ``when`` says.
    """

    when: RuleMatch
    thinking: LevelRules = LevelRules()
    to: tuple[str, ...] = ()
    name: str = ""


class ProviderOverride(Struct, frozen=True, forbid_unknown_fields=True):
    """An address and a key reference in place of a provider's usual ones."""

    url: str | None = None
    key: str | None = None


class Deployment(Struct, frozen=True, forbid_unknown_fields=True):
    """One of several accounts, regions or machines that serve a provider's models.

    ``key`` is a reference, and ``url`` an address, in place of the provider's usual ones. New
    conversations are shared in proportion to ``weight``. ``limit`` is what the account has.
    """

    name: str
    provider: str
    key: str | None = None
    url: str | None = None
    weight: Weight = 1.0
    limit: RateLimitRule | None = None


class GatewayGroup(Struct, frozen=True, forbid_unknown_fields=True):
    """Keys with common rules: all of them together may use what ``budget`` and ``limit`` say.

    The rules of a group hold in addition to those of each key.
    """

    name: Annotated[str, Meta(min_length=1)]
    thinking: LevelRules = LevelRules()
    budget: SpendBudget | None = None
    limit: RateLimitRule | None = None


class GatewayKey(Struct, frozen=True, forbid_unknown_fields=True):
    """A client's key. ``models``: names and globs it may request; None: all, empty: no model.

    An ``admin`` key may also use the console and create keys, and read metrics, as may one with
    ``metrics``. At ``expires`` it ends. ``account_state``: it may name what the provider's account
    stores (conversations, prompts, answers to other keys). ``endpoints``: what it may use besides
    conversations; None: all but those that could pass its rules.
    ``group``: the name of its group, whose rules hold too.
    """

    name: Annotated[str, Meta(min_length=1)]
    hash: str
    thinking: LevelRules = LevelRules()
    models: tuple[str, ...] | None = None
    budget: SpendBudget | None = None
    limit: RateLimitRule | None = None
    blocked: bool = False
    admin: bool = False
    metrics: bool = False
    expires: Annotated[datetime, Meta(tz=True)] | None = None
    account_state: bool = False
    endpoints: tuple[str, ...] | None = None
    group: str | None = None


class EndpointRoute(Struct, frozen=True, forbid_unknown_fields=True):
    """The provider of an endpoint, by its name (``*``: all), or by a path that may end in ``*``."""

    match: Annotated[str, Meta(min_length=1)]
    to: str


class ServerConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the gateway listens, where it stores shared state and records, and its limits.

    ``state`` is "memory" or a Redis address; ``ledger`` is "sqlite", "off" or a PostgreSQL
    address. Either may be a reference, because addresses may contain passwords.
    ``answer_cache_seconds`` and ``answer_cache_bytes`` limit the answers cached for clients that
    drop signatures; half of the bytes, in the memory of each process, is for conversations
    that were read, so that the next request costs only its new turns. ``on_state_loss``: whether
    requests are answered while Redis is unreachable. ``max_upload``: bytes of a body that is not
    read into memory. ``log`` is "stderr", "off", or a file.
    ``envelope_secret``: references of the secrets of envelopes, the first makes them; empty: a
    secret of the gateway's own.
    ``accept_plain_envelopes``: read envelopes of earlier versions, which anybody can write;
    "local": only of a client without a key.
    """

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 8787
    state: str = "memory"
    ledger: str = "sqlite"
    workers: Annotated[int, Meta(ge=1, le=256)] = 1
    max_body: Count = 64 * _MIB
    max_upload: Count = 512 * _MIB
    answer_cache_seconds: Seconds = 3600
    answer_cache_bytes: Annotated[int, Meta(ge=0)] = 256 * _MIB
    drain_seconds: Annotated[float, Meta(ge=0, le=86_400)] = 30
    on_state_loss: Literal["allow", "refuse"] = "allow"
    log: str = "stderr"
    envelope_secret: tuple[str, ...] = ()
    accept_plain_envelopes: Literal["local", "always", "never"] = "local"


class ResponsesConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the gateway keeps the answers of the Responses API, and how many and how long.

    ``store``: "state" (memory or Redis, as ``[server] state`` says), "sqlite", a PostgreSQL
    address or a reference to one, or "off". Entries without use for ``seconds`` are
    deleted, and the oldest if all have more than ``bytes``; an answer of more than
    ``answer_bytes`` is not kept.
    ``background``: how many answers a process works on for clients that fetch them later,
    ``background_per_key`` how many of them for one key.
    """

    store: str = "state"
    seconds: Annotated[float, Meta(ge=1, le=10 * 365 * 86_400)] = 30 * 86_400
    bytes: Count = 256 * _MIB
    answer_bytes: Count = 32 * _MIB
    background: Annotated[int, Meta(ge=0, le=10_000)] = 100
    background_per_key: Annotated[int, Meta(ge=0, le=10_000)] = 20


class AlertsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Where alerts are sent, and from which shares on there is one.

    ``webhook``: an address, or a reference to one; ``secret``: a reference to what signs them.
    ``kinds``: those that are sent; empty means all. ``budget_share``: of a budget;
    ``error_share``: of the requests to a model. ``expiry_days``: before a key expires.
    """

    webhook: str | None = None
    secret: str | None = None
    kinds: tuple[str, ...] = ()
    budget_share: Share = 0.8
    error_share: Share = 0.1
    expiry_days: Annotated[float, Meta(ge=0, le=3650)] = 7


class SignInConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Who may sign in to the console, at which identity provider (OpenID Connect).

    ``public_url``: the address at which browsers reach the gateway. ``role_claim``: the steps to
    the claim whose values ``admins`` and ``viewers`` name. ``client_secret`` is a reference.
    ``session_seconds``: how long a session lasts; without it, as long as the ID token.
    """

    issuer: str
    client_id: Annotated[str, Meta(min_length=1)]
    public_url: str
    admins: tuple[str, ...] = ()
    viewers: tuple[str, ...] = ()
    role_claim: Annotated[tuple[str, ...], Meta(min_length=1)] = ("groups",)
    client_secret: str | None = None
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    label: str = ""
    session_seconds: Annotated[float, Meta(ge=60, le=7 * 86_400)] | None = None


class HookConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """One hook: the operator's code that sees requests and answers.

    ``use``: the name of an entry point, or ``package.module:Class``. ``routes`` and ``keys``: names
    and globs of those it is for; empty means all. ``seconds``: for each call. ``on_failure``:
    whether a request is rejected or goes on if the hook fails or takes longer.
    """

    use: Annotated[str, Meta(min_length=1)]
    name: str = ""
    routes: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    seconds: Annotated[float, Meta(gt=0, le=600)] = 1.0
    on_failure: Literal["reject", "skip"] = "reject"
    settings: Mapping[str, Any] = {}


class GatewayConfig(Struct, frozen=True):
    """The whole configuration. ``path`` is its file, if there is one.

    ``open``: providers whose models are served under pondero's own names; empty if there are
    routes. ``private``: its keys all belong to the user who runs it. ``overridden``: settings of
    ``[server]`` that the command line gives instead of the file. ``waiting``: settings that the
    file has had since the start, and that hold after a restart, such as ``server.port``.
    """

    server: ServerConfig = ServerConfig()
    routes: tuple[GatewayRoute, ...] = ()
    providers: Mapping[str, ProviderOverride] = {}
    keys: tuple[GatewayKey, ...] = ()
    groups: tuple[GatewayGroup, ...] = ()
    path: Path | None = None
    open: frozenset[str] = frozenset()
    private: bool = False
    rules: tuple[PurposeRule, ...] = ()
    alerts: AlertsConfig = AlertsConfig()
    responses: ResponsesConfig = ResponsesConfig()
    endpoints: tuple[EndpointRoute, ...] = ()
    deployments: tuple[Deployment, ...] = ()
    sign_in: SignInConfig | None = None
    hooks: tuple[HookConfig, ...] = ()
    overridden: frozenset[str] = frozenset()
    waiting: tuple[str, ...] = ()

    @property
    def is_exposed(self) -> bool:
        """Return whether other machines could send requests without a key."""
        return not self.keys and not is_loopback(self.server.host)

    def find_group(self, name: str) -> GatewayGroup | None:
        """Return the group of this name; None if there is none."""
        return next((each for each in self.groups if each.name == name), None)


@lru_cache(maxsize=64)  # every request of a gateway without keys asks for its host
def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a host."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def find_name_problem(name: str, holder: str = "key") -> str | None:
    """Return why a key, or something else, may not have this name; None if it may."""
    if len(name) > LONGEST_KEY_NAME:
        return f"a {holder}'s name may have {LONGEST_KEY_NAME} characters"
    if not name.strip() or not name.isprintable():
        return f"a {holder}'s name must be printable, in one line, and say whose it is"
    if name in (".", ".."):  # in an address, these lead elsewhere
        return f"a {holder}'s name may not be {name!r}"
    if holds_secret(name, keyring=False):  # every record and metric would show it
        return f"a {holder}'s name may not have the text of a key in it"
    return None


def parse_expiry(value: object) -> datetime:
    """Return when a key expires: at a time (without an offset in UTC), or after a day in UTC.

    Raises ValueError.
    """
    if isinstance(value, str):
        text = value.strip()
        value = date.fromisoformat(text) if len(text) <= 10 else datetime.fromisoformat(text)
    if isinstance(value, date) and value.year not in _YEARS:  # a time is a date too
        message = f"write a year from {_YEARS[0]} to {_YEARS[-1]}"
        raise ValueError(message)
    if isinstance(value, datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime.combine(value, time.max, UTC)
    message = "write a date or a time, such as 2027-01-31 or 2027-01-31T12:00:00Z"
    raise ValueError(message)
