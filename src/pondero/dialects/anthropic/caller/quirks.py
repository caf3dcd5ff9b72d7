"""In what one deployment of this wire differs from the next; set in the catalog, never guessed."""

from collections.abc import Mapping

import msgspec

from pondero.canon import Json
from pondero.errors import BadCatalog


class Quirks(msgspec.Struct, frozen=True, kw_only=True):
    """What is so unless a deployment says otherwise; keys we do not know are not ours.

    ``raw_predict``: the model stands in the address, whose verb says whether it streams, and the
    version in the body.
    """

    raw_predict: bool = False


def quirks_of(raw: Mapping[str, Json]) -> Quirks:
    """Return the quirks a mapping holds; raises BadCatalog where a value is not one of ours."""
    try:
        return msgspec.convert(raw, Quirks)
    except msgspec.ValidationError as error:
        raise BadCatalog(f"a quirk of this deployment is wrong: {error}") from None
