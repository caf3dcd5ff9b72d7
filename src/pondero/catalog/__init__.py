"""What each model can do and where it is served: facts in rows of TOML, none in code."""

from ..lazy import lazily
from .load import (
    TomlFile,
    compiled,
    did_you_mean,
    extended,
    from_files,
    read_toml,
    shipped,
    write_compiled,
)
from .lookup import Entry, Lookup, Name
from .schema import Catalog, Family, Fill, Group, Provider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .listing import Difference, Listed, Seller, compare, read_listing, rows

_LISTING = ("Difference", "Listed", "Seller", "compare", "read_listing", "rows")

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
    "TomlFile",
    "compare",
    "compiled",
    "did_you_mean",
    "extended",
    "from_files",
    "read_listing",
    "read_toml",
    "rows",
    "shipped",
    "write_compiled",
]

# Load what compares catalogs on first use: a plan needs none of it.
__getattr__ = lazily(__name__, dict.fromkeys(_LISTING, "listing"))
