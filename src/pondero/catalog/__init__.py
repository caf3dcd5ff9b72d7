"""What each model can do and where it is served: facts in rows of TOML, none in code."""

from ..lazy import Loader, make_lazy_getattr
from .index import SimilarNames
from .load import (
    TomlFile,
    add_user_files,
    catalog_hash,
    did_you_mean,
    from_files,
    load_shipped,
    parse_toml,
)
from .lookup import SCHEMA, Lookup, ModelEntry, ParsedModelName
from .schema import (
    BatchShape,
    BatchTerms,
    Catalog,
    Family,
    FamilyGroup,
    OutputMode,
    Provider,
    UrlVariable,
)
from .short_names import ShortName, describe_meaning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .comparison import (
        SNAPSHOT,
        CatalogComparison,
        CatalogDifference,
        ExplainedDifference,
        compare_lists,
        load_explained,
        provider_map,
        rows_to_add,
        second_list,
        snapshot,
    )
    from .compile import compile_catalog, with_list, write_compiled, write_lists
    from .public_list import (
        ListedModel,
        ListedProvider,
        ListedThinking,
        PublicList,
        facts_of,
        read_listing,
        trim_list,
    )
    from .search import TRAITS, find_meanings, search_models

_NAMES = {
    "comparison": (
        "SNAPSHOT CatalogComparison CatalogDifference ExplainedDifference compare_lists "
        "load_explained provider_map rows_to_add second_list snapshot"
    ),
    "compile": "compile_catalog with_list write_compiled write_lists",
    "public_list": (
        "ListedModel ListedProvider ListedThinking PublicList facts_of read_listing trim_list"
    ),
    "search": "TRAITS find_meanings search_models",
}

__all__ = [
    "SCHEMA",
    "SNAPSHOT",
    "TRAITS",
    "BatchShape",
    "BatchTerms",
    "Catalog",
    "CatalogComparison",
    "CatalogDifference",
    "ExplainedDifference",
    "Family",
    "FamilyGroup",
    "ListedModel",
    "ListedProvider",
    "ListedThinking",
    "Lookup",
    "ModelEntry",
    "OutputMode",
    "ParsedModelName",
    "Provider",
    "PublicList",
    "ShortName",
    "SimilarNames",
    "TomlFile",
    "UrlVariable",
    "add_user_files",
    "catalog_hash",
    "compare_lists",
    "compile_catalog",
    "describe_meaning",
    "did_you_mean",
    "facts_of",
    "find_meanings",
    "from_files",
    "load_explained",
    "load_shipped",
    "parse_toml",
    "provider_map",
    "read_listing",
    "rows_to_add",
    "search_models",
    "second_list",
    "snapshot",
    "trim_list",
    "with_list",
    "write_compiled",
    "write_lists",
]

# Load the modules that compare and compile catalogs on first use: a plan needs none.
__getattr__: Loader = make_lazy_getattr(__name__, _NAMES)
