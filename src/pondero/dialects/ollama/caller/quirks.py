"""The quirks of one deployment; set in the catalog, never guessed."""

from collections.abc import Mapping

from msgspec import Struct, ValidationError

from pondero.canon import Json, convert_json
from pondero.dialects.dialect import TagRule
from pondero.errors import BadCatalog


class Quirks(Struct, frozen=True, kw_only=True):
    """``think_tags``: where a model whose template the server does not parse puts thinking."""

    think_tags: TagRule = "preopened"


def tags_left(raw: Mapping[str, Json]) -> TagRule:
    """Return the tags that stay in the text; raises BadCatalog for a value that is not allowed."""
    try:
        return convert_json(raw, Quirks).think_tags
    except ValidationError as error:
        raise BadCatalog(f"a quirk of this deployment is wrong: {error}") from None
