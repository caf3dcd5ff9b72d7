"""Single fields: the system prompt, stop sequences and who asks."""

import re

from .. import types
from ..errors import reject
from .facts import RequestFacts

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_LONGEST_ID = 256


def check_system(body: types.Body) -> None:
    """Reject a system prompt with a text that is empty or only white space."""
    given = body.system
    texts = [given] if isinstance(given, str) else [each.text for each in given or ()]
    for text in texts:
        if not text:
            reject("empty_system_text")
        if not text.strip():
            reject("blank_system_text")


def check_stops(body: types.Body) -> None:
    """Reject stop sequences that are empty or only white space."""
    for each in body.stop_sequences or ():
        if not each:
            reject("empty_stop")
        if not each.strip():
            reject("blank_stop")


def check_metadata(asked: RequestFacts) -> None:
    """Reject a user's id that is too long, or tells who it is."""
    id = asked.body.metadata.user_id if asked.body.metadata else None
    if id is None:
        return
    if len(id) > _LONGEST_ID:
        reject("long_user_id", most=_LONGEST_ID)
    if _EMAIL.fullmatch(id):
        reject("email_user_id")
