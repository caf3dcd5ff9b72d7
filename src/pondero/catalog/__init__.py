"""What can this model do, and where does it live? Facts in rows, none in code."""

from .load import compiled, extended, from_files, shipped
from .lookup import Entry, Lookup, Name
from .schema import Catalog, Family, Group, Provider

__all__ = [
    "Catalog",
    "Entry",
    "Family",
    "Group",
    "Lookup",
    "Name",
    "Provider",
    "compiled",
    "extended",
    "from_files",
    "shipped",
]
