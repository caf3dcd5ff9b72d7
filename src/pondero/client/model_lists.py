"""The models on the list of a service, with the facts of the catalog next to each."""

from decimal import Decimal

from msgspec import Struct

from ..batch import Steps, send_idempotent
from ..canon import HttpRequest, Json, Usage
from ..catalog import Catalog, ModelEntry, Provider
from ..dialects import get_dialect
from ..errors import Malformed, MissingKey, Unsupported, UsageError
from ..exchange import Retry, auth_header
from ..framing import parse_json_or_none
from ..store import Credentials, load_catalog, price_usage
from .dial import model_levels

_MOST_PAGES = 1_000


class ModelPrice(Struct, frozen=True):
    """Dollars for a million tokens of a short prompt, and of the answer with its thinking.

    >>> price = client.models("deepseek")[0].price
    >>> price.input < price.output
    True
    """

    input: Decimal
    output: Decimal


class ServiceModel(Struct, frozen=True):
    """A model on a service's own list.

    ``name`` and ``raw`` are the service's words; the rest is from the catalog. If the catalog does
    not have the model, ``known`` is False, and the facts are those of a relative, or none.

    >>> listed = client.models("anthropic")[-1]
    >>> listed.id, listed.known, listed.levels[-1]
    ('anthropic:claude-...', True, '...')
    """

    name: str
    provider: str
    entry: ModelEntry | None
    raw: Json

    def __repr__(self) -> str:
        about = self.family if self.known else "not in the catalog"
        return f"<pondero.ServiceModel {self.id}, {about}>"

    @property
    def id(self) -> str:
        """Return the name to ask for."""
        return f"{self.provider}:{self.name}"

    @property
    def known(self) -> bool:
        """Return whether the catalog has this model."""
        return self.entry is not None and not self.entry.inferred

    @property
    def family(self) -> str | None:
        """Return its family, if the catalog knows one."""
        return self.entry.family if self.entry is not None else None

    @property
    def levels(self) -> tuple[str, ...]:
        """Return its levels, weakest first; empty if it does not think."""
        return model_levels(self.id) if self.entry is not None else ()

    @property
    def context(self) -> int | None:
        """Return the context window in tokens, if known."""
        return self.entry.context if self.entry is not None else None

    @property
    def max_output(self) -> int | None:
        """Return the most tokens of an answer, if known."""
        return self.entry.max_output if self.entry is not None else None

    @property
    def price(self) -> ModelPrice | None:
        """Return its price by the extra ``prices``; None if unknown."""
        thousands = (Usage(1000, output=0), Usage(0, output=1000))
        prices = [price_usage(self.provider, self.name, usage) for usage in thousands]
        read, written = prices
        if read is None or written is None:
            return None
        return ModelPrice(read * 1000, written * 1000)


def list_steps(
    provider: Provider, url: str, key: str | None, retry: Retry
) -> Steps[list[ServiceModel]]:
    """Read the whole list of a service, page by page."""
    caller = get_dialect(provider.dialect).caller()
    listing = caller.listing
    if listing is None:
        catalog = f"pondero.models({provider.name!r}) has those of the catalog"
        raise Unsupported(f"{provider.label} lists no models at the address of its API; {catalog}")
    headers = {**listing.headers, **auth_header(provider, key)}
    found: dict[str, Json] = {}
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        request = HttpRequest("GET", listing.address(url, cursor), headers)
        raw = parse_json_or_none((yield from send_idempotent(request, caller.error, retry=retry)))
        rows = listing.find_rows(raw)
        if rows is None:
            raise Malformed(f"{provider.label} answered at {request.url} with no list of models")
        before, cursor = cursor, listing.find_next(raw)
        found |= dict(rows)
        if cursor is None or cursor == before:
            break
    return [
        ServiceModel(name, provider.name, _find_entry(provider.name, name), row)
        for name, row in found.items()
    ]


def list_all_steps(
    catalog: Catalog, credentials: Credentials, retry: Retry
) -> Steps[list[ServiceModel]]:
    """Read the lists of all services whose keys are known."""
    known: list[Steps[list[ServiceModel]]] = []
    for provider in catalog.providers.values():
        try:
            key = credentials.key(provider, needed=True)
            url = credentials.url(provider, needed=True)
        except UsageError:
            continue
        if key is not None and get_dialect(provider.dialect).caller().listing is not None:
            known.append(list_steps(provider, url, key, retry))
    if not known:
        raise MissingKey("no provider has a key; set one, or name a provider")
    found: list[ServiceModel] = []
    for steps in known:
        found += yield from steps
    return found


def _find_entry(provider: str, name: str) -> ModelEntry | None:
    try:
        return load_catalog().entry(f"{provider}:{name}")
    except UsageError:
        return None
