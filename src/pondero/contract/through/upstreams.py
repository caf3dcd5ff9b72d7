"""The upstreams of the matrix, from ``upstreams.toml``: models, addresses, and what they say."""

from importlib.resources import files

from msgspec import Struct

from ...canon import convert_json
from ...catalog import parse_toml

_TOO_LONG = (
    "This model's maximum context length is 200000 tokens. However, your messages resulted in "
    "215000 tokens."
)


class Back(Struct, frozen=True, forbid_unknown_fields=True):
    """A model that a gateway reaches at the referee; what its service cannot do is no miss."""

    model: str
    images: bool = True
    schemas: bool = True
    default: bool = False

    @property
    def provider(self) -> str:
        """Return the provider's name."""
        return self.model.partition(":")[0]

    @property
    def name(self) -> str:
        """Return the model's name at its provider."""
        return self.model.partition(":")[2]


class Upstream(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A provider: its names in gateways' configurations, and its words for a long prompt."""

    root: str | None = None
    portkey_root: str | None = None
    rosetta_root: str | None = None
    litellm: str | None = None
    portkey: str | None = None
    rosetta: str | None = None
    aws: bool = False
    needs_max_tokens: bool = False
    too_long: str = _TOO_LONG
    too_long_code: str | None = None


class _UpstreamTable(Struct, frozen=True, forbid_unknown_fields=True):
    back: dict[str, Back]
    provider: dict[str, Upstream]


_FILE = "upstreams.toml"
_TEXT = files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
_TABLE = convert_json(parse_toml(_TEXT, _FILE).values, _UpstreamTable)
BACKS: dict[str, Back] = _TABLE.back
"""The upstreams of the matrix, by the name that a client uses for each."""
_UNKNOWN = Upstream()


def find_upstream(provider: str) -> Upstream:
    """Return a provider's row; one without a row has the usual values."""
    return _TABLE.provider.get(provider, _UNKNOWN)
