"""System turns inside a conversation: which models take them, and where they may stand."""

from .. import types
from ..errors import reject
from ..models import Family

_HELD = frozenset({"text", "cachePoint", "toolAddition", "toolRemoval"})


def check_system_turns(messages: list[types.MessageIn], row: Family) -> None:
    """Reject system turns that the model does not take, or not there; a run counts as one."""
    for at, message in enumerate(messages):
        if message.role != "system":
            continue
        if row.system == "rejected":
            reject("system_role", at=at)
        if row.system == "unchecked":
            continue
        for union in message.content:
            if kinds := [kind for kind in union if kind not in _HELD]:
                reject("system_content", at=at, kind=kinds[0])
        before = next((each.role for each in messages[:at][::-1] if each.role != "system"), None)
        after = next((each.role for each in messages[at + 1 :] if each.role != "system"), None)
        if before is None:
            reject("system_first", at=at)
        if before != "user":
            reject("system_after", at=at)
        if after not in (None, "assistant"):
            reject("system_before", at=at)
