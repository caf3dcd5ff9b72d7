"""System turns inside a conversation: who takes them, where they may stand, what they may hold."""

from msgspec import Raw
from msgspec.json import decode

from pondero.canon import Json
from pondero.dialects import claude

from .. import types
from ..errors import reject
from .facts import RequestFacts

_EFFORT_BETAS = ("mid-conversation-output-config-", "per-turn-control-")
_CHANGES = ("tool_addition", "tool_removal")
_SERVER_RESULTS = frozenset(kind for kind in types.UNTYPED if kind.endswith("_tool_result"))


def check_turns(asked: RequestFacts) -> None:
    """Reject system turns that the model does not take, and settings outside system turns."""
    in_effect = asked.body.output_config.effort if asked.body.output_config else None
    for at, message in enumerate(asked.body.messages):
        if message.role != "system":
            if message.output_config is not None:
                reject("turn_effort", at=at)
            if message.clear_at is not None:
                reject("clear_at", at=at)
            continue
        if asked.platform == "foundry" or asked.row.system == "rejected":
            reject("system_role", at=at)
        if asked.row.system == "unchecked":
            continue
        _check_effort(asked, at, message.output_config, in_effect or "high")
        in_effect = (message.output_config.effort if message.output_config else None) or in_effect
        blocks = _blocks(message.content)
        if not blocks and (message.output_config is None or message.output_config.effort is None):
            reject("empty_system", at=at)
        _check_blocks(asked, at, blocks, clears=message.clear_at == "next_user_message")
        if message.clear_at is not None and not asked.has_beta("mid-conversation-system-clear-at-"):
            reject("clear_at", at=at)
        if blocks:
            _check_place(asked.body.messages, at)


def _blocks(content: str | list[Raw]) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [decode(raw) for raw in content]


def _check_effort(
    asked: RequestFacts, at: int, config: types.TurnConfig | None, in_effect: str
) -> None:
    if config is None:
        return
    if not asked.has_beta(*_EFFORT_BETAS):
        reject("turn_effort", at=at)
    if not asked.row.turns:
        reject("turn_effort_model", at=at)
    if config.effort is None:
        return
    claude.check_effort(config.effort, asked.row.efforts, reject, off_accepted=None)
    if asked.off and config.effort != in_effect:
        reject("turn_thinking", at=at)


def _check_blocks(asked: RequestFacts, at: int, blocks: list[Json], *, clears: bool) -> None:
    declared = [tool.get("name") for tool in asked.raw.get("tools") or ()]
    for number, block in enumerate(blocks):
        kind, path = block.get("type"), f"messages.{at}.content.{number}"
        if kind not in ("text", *_CHANGES) or (clears and kind != "text"):
            reject("system_content", path=path, kind=kind)
        if clears and block.get("cache_control") is not None:
            reject("cleared_cache", path=path)
        if kind in _CHANGES:
            _check_change(asked, path, block, declared)


def _check_change(asked: RequestFacts, path: str, block: Json, declared: list[Json]) -> None:
    if asked.row.system != "followed":
        reject("tool_change_model", path=path)
    if not asked.has_beta("mid-conversation-tool-changes-"):
        reject("tool_change", path=path)
    tool = block.get("tool")
    tool = tool if isinstance(tool, dict) else {}
    if tool.get("type") == "tool_definition":
        if not asked.has_beta("inline-tools-"):
            reject("inline_tool", path=path)
    elif tool.get("name") not in declared:
        reject("tool_change_unknown", name=tool.get("name"))


def _check_place(messages: list[types.MessageIn], at: int) -> None:
    """Reject words of a system turn before a user turn, or not after one; a run counts as one."""
    before = next((each for each in messages[:at][::-1] if each.role != "system"), None)
    after = next((each for each in messages[at + 1 :] if each.role != "system"), None)
    if before is None:
        reject("system_first", at=at)
    if before.role != "user" and not _ends_with_server_result(before):
        reject("system_after", at=at)
    if after is not None and after.role != "assistant":
        reject("system_before", at=at)


def _ends_with_server_result(message: types.MessageIn) -> bool:
    blocks = _blocks(message.content)
    return bool(blocks) and blocks[-1].get("type") in _SERVER_RESULTS
