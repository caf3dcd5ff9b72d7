"""Where Claude Code names its session: in a header, and inside the id of its user."""

import re

from pondero.canon import Json
from pondero.dialects.conversation_marks import ConversationMarks
from pondero.framing import parse_json_or_none

_OLDER = re.compile(r"_session_([0-9A-Za-z-]{8,})$")  # user_..._account_..._session_UUID


def read_session(value: Json) -> str | None:
    """Return the session in a user's id; None for an id that other clients use for all sessions."""
    if not isinstance(value, str):
        return None
    if value.startswith("{"):
        said = parse_json_or_none(value.encode("utf-8", "replace"))
        session = said.get("session_id") if isinstance(said, dict) else None
        return session if isinstance(session, str) and session else None
    found = _OLDER.search(value)
    return found[1] if found is not None else None


CONVERSATION = ConversationMarks(  # requests of Claude Code 2.1.197 and 2.1.325
    headers=("x-claude-code-session-id",),
    fields=(("metadata", "user_id"),),
    read=read_session,
)
