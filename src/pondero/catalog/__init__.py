"""What can this model do, and where does it live? Facts in rows, none in code."""

from .load import compiled, extended, from_files, shipped
from .lookup import Entry, Lookup, Name
from .schema import Catalog, Family, Fill, Group, Provider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .listing import Difference, Listed, Seller, compare, read_listing, rows

_LISTING = frozenset({"Difference", "Listed", "Seller", "compare", "read_listing", "rows"})

__all__ = [
    "Catalog",
    "Difference",
    "Entry",
    "Family",
    "Fill",
    "Group",
    "Listed",
    "Lookup",
    "Name",
    "Provider",
    "Seller",
    "compare",
    "compiled",
    "extended",
    "from_files",
    "read_listing",
    "rows",
    "shipped",
]


def __getattr__(name: str) -> object:
    """Load what compares catalogs on first use: a plan needs none of it."""
    if name not in _LISTING:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module  # noqa: PLC0415 - see above

    value = globals()[name] = getattr(import_module(".listing", __name__), name)
    return value
