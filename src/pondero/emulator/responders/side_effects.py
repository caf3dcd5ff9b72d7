"""Whether a tool only reads: agents run what the emulator calls, so it calls few others."""

import re

from ...canon import Json, Tool

_BRIEF = 200  # characters of a description that says what one small tool does
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_SERVER = re.compile(r"__|[./:]")  # between the name of an MCP server and of its tool
_READING = frozenset({
    "count", "describe", "fetch", "find", "get", "inspect", "list", "look", "lookup", "query",
    "read", "retrieve", "search", "show", "view",
})  # fmt: skip
_REPORTS = frozenset({
    "count", "details", "history", "info", "lookup", "search", "status", "summary",
})  # fmt: skip
_JOINS = frozenset({"and", "or", "then"})
_REPORTED = frozenset({"agent", "commit", "message", "order", "task", "todo", "workflow"})
_THINGS = _REPORTED | {
    "book", "change", "code", "command", "cron", "mail", "monitor", "notebook", "patch", "plan",
    "post", "request", "schedule", "script", "skill", "store", "tool", "transfer", "worktree",
}  # fmt: skip
_ACTS = _THINGS | {
    "act", "apply", "ask", "bash", "buy", "cancel", "click", "close", "cmd", "console", "copy",
    "create", "delete", "deploy", "drop", "edit", "enter", "erase", "eval", "exec", "execute",
    "exit", "insert", "install", "interpreter", "invoke", "kill", "launch", "modify", "move",
    "open", "pay", "powershell", "publish", "push", "put", "python", "remove", "rename", "replace",
    "reset", "restart", "rm", "run", "save", "send", "set", "sh", "shell", "spawn", "sql", "start",
    "stdin", "stop", "submit", "terminal", "trash", "update", "upload", "write", "zsh",
}  # fmt: skip
_ACTING = frozenset({"bash", "command", "delete", "filesystem", "overwrite", "shell", "terminal"})
COMMANDS: frozenset[str] = frozenset({"cmd", "command", "commands", "script"})
"""Arguments that a shell runs."""
_BODIES = COMMANDS | {
    "code", "content", "contents", "file_text", "input_text", "new_str", "new_string", "patch",
    "source", "sql", "stdin",
}  # fmt: skip


def only_reads(tool: Tool) -> bool:
    """Return whether neither name, description nor arguments of a tool speak of side effects."""
    described = _stems(tool.description) if len(tool.description) <= _BRIEF else frozenset()
    return not (
        _acts_by_name(tool.name) or described & _ACTING or _BODIES & properties_of(tool).keys()
    )


def is_shell(tool: Tool) -> bool:
    """Return whether a tool takes a command."""
    return bool(COMMANDS & properties_of(tool).keys())


def properties_of(tool: Tool) -> dict[str, Json]:
    """Return the schemas of a tool's arguments."""
    schema = tool.parameters
    found = schema.get("properties") if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}


def _acts_by_name(name: str) -> bool:
    words = _stems(name)
    acts = words & _ACTS
    # An order is a thing in get_order and order_status, and an act in order_pizza.
    return bool(acts - _THINGS if _reads_by_name(name) else acts)


def _reads_by_name(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(_SERVER.split(name)[-1])]
    if not words or _JOINS & set(words):
        return False
    return words[0] in _READING or (words[0] in _REPORTED and words[-1] in _REPORTS)


def _stems(text: str) -> set[str]:
    words = {word.lower() for word in _WORD.findall(text)}
    return words | {word.removesuffix("s") for word in words}
