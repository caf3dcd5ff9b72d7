"""In what models of one deployment of this wire differ; set in the catalog, never guessed."""

from collections.abc import Mapping

import msgspec

from pondero.canon import Json
from pondero.errors import BadCatalog


class Quirks(msgspec.Struct, frozen=True, kw_only=True):
    """What is so unless a deployment says otherwise; keys we do not know are not ours.

    ``messages_fields_of``: beginnings of the names, after a region or an address, of the models
    that take the fields of the Messages API beside Converse's own, and answer with them.
    """

    messages_fields_of: tuple[str, ...] = ()

    def takes_messages_fields(self, model: str) -> bool:
        """Return whether a model takes what Converse has no words for as its maker says it."""
        places = (0, *(at + 1 for at, letter in enumerate(model) if letter in "./"))
        return any(model.startswith(self.messages_fields_of, at) for at in places)


def quirks_of(raw: Mapping[str, Json]) -> Quirks:
    """Return the quirks a mapping holds; raises BadCatalog where a value is not one of ours."""
    try:
        return msgspec.convert(raw, Quirks)
    except msgspec.ValidationError as error:
        raise BadCatalog(f"a quirk of this deployment is wrong: {error}") from None
