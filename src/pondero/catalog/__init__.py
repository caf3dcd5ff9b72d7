"""What each model can do and where it is served: facts in rows of TOML, none in code."""

from ..lazy import Loader, make_lazy_getattr
from .load import TomlFile, did_you_mean, extended, from_files, read_toml, revision, shipped
from .lookup import SCHEMA, Entry, Lookup, Name
from .schema import Batch, BatchShape, Catalog, Family, Fill, Group, Provider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .comparison import (
        SNAPSHOT,
        Comparison,
        Difference,
        Settled,
        compare,
        provider_map,
        rows,
        second_list,
        settled_rows,
        snapshot,
    )
    from .compile import compiled, with_list, write_compiled, write_lists
    from .listing import Control, Listed, PublicList, Seller, facts_of, read_listing, trimmed

_HOMES = {
    "Comparison": "comparison",
    "Control": "listing",
    "Difference": "comparison",
    "Listed": "listing",
    "PublicList": "listing",
    "SNAPSHOT": "comparison",
    "Seller": "listing",
    "Settled": "comparison",
    "compare": "comparison",
    "compiled": "compile",
    "facts_of": "listing",
    "provider_map": "comparison",
    "read_listing": "listing",
    "rows": "comparison",
    "second_list": "comparison",
    "settled_rows": "comparison",
    "snapshot": "comparison",
    "trimmed": "listing",
    "with_list": "compile",
    "write_compiled": "compile",
    "write_lists": "compile",
}

__all__ = [
    "SCHEMA",
    "SNAPSHOT",
    "Batch",
    "BatchShape",
    "Catalog",
    "Comparison",
    "Control",
    "Difference",
    "Entry",
    "Family",
    "Fill",
    "Group",
    "Listed",
    "Lookup",
    "Name",
    "Provider",
    "PublicList",
    "Seller",
    "Settled",
    "TomlFile",
    "compare",
    "compiled",
    "did_you_mean",
    "extended",
    "facts_of",
    "from_files",
    "provider_map",
    "read_listing",
    "read_toml",
    "revision",
    "rows",
    "second_list",
    "settled_rows",
    "shipped",
    "snapshot",
    "trimmed",
    "with_list",
    "write_compiled",
    "write_lists",
]

# Load what compares and compiles catalogs on first use: a plan needs none of it.
__getattr__: Loader = make_lazy_getattr(__name__, _HOMES)
