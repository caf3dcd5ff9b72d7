"""The level that a stored conversation has set for itself, under the rules of this request."""

from ...catalog import ModelEntry
from ...errors import PermissionDenied
from ...exchange import Exchange
from ..requests.routed_request import RoutedRequest
from .level_rules import AppliedLevel, limit_word
from .stated_depth import find_last_level


def check_stored_level(
    exchange: Exchange, routed: RoutedRequest, entry: ModelEntry, level: AppliedLevel
) -> None:
    """Raise PermissionDenied if a request continues with a level that the rules do not allow.

    The service applies such a level until another turn replaces it (OpenAI, configuration_update),
    whatever the request itself asks for. A level in this request's own turns does, and has been
    limited already.
    """
    stored = routed.stored_level
    if stored is None:
        return
    level = level.bounds
    if not any(rule.binds for rule in level.rules):
        return
    if exchange.dialect != routed.call.client_dialect:
        return
    if find_last_level(exchange.http.body, routed.service.depth) is not None:
        return
    if stored.is_known and stored.word is None:
        return
    if stored.is_known and limit_word(str(stored.word), entry, level) == stored.word:
        return
    what = f"may have set a level of its own in {stored.id!r}"
    if stored.is_known:
        what = f"set the level {stored.word!r} in {stored.id!r}"
    message = (
        f"this key or route limits how much models think, and the stored conversation {what}; "
        "set a level in a turn of this request, or send the conversation itself"
    )
    raise PermissionDenied(message, status=403)
