"""An MCP server without the ``mcp`` package that does what a decent one does not; see the tests."""

import json
import sys

HOW = sys.argv[1]
EVIL = "\x1b]0;title\x07\x1b[2J"
TOOL: dict[str, object] = {"name": "look", "description": EVIL, "inputSchema": {"type": "object"}}
LISTS: dict[str, dict[str, object]] = {
    "endless": {"tools": [TOOL], "nextCursor": "again"},
    "large": {"tools": [{**TOOL, "name": f"t{n}", "description": "d" * 1000} for n in range(2000)]},
    "wrong": {"tools": [{**TOOL, "inputSchema": {"type": "array"}}]},
}
PICTURE = {"type": "image", "mimeType": "image/png"}
RESULTS: dict[str, dict[str, object]] = {
    "no_base64": {"content": [{**PICTURE, "data": "%%%"}]},
    "nothing": {"content": [{**PICTURE, "data": ""}]},
    "no_content": {"content": EVIL},
    "evil": {"content": [{"type": "text", "text": EVIL}]},
}


def say(line: str) -> None:
    """Write a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def answer(method: str, params: dict[str, object]) -> dict[str, object]:
    """Return the result of one request."""
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": EVIL, "version": EVIL},
        }
    if method == "tools/list":
        return LISTS.get(HOW, {"tools": [TOOL]})
    return RESULTS.get(HOW, RESULTS["evil"]) if method == "tools/call" else {}


if HOW == "rubbish":
    for _ in range(20):
        say(f"starting up {EVIL}")
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        result = answer(asked["method"], asked.get("params", {}))
        say(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
