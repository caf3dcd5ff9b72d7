"""A small MCP server that keeps notes in memory; examples/agent.py starts it."""

from mcp.server.mcpserver import MCPServer

SERVER = MCPServer("notes")
NOTES: list[str] = []


@SERVER.tool()
def add_note(text: str) -> str:
    """Add a note."""
    NOTES.append(text)
    return f"note {len(NOTES)} saved"


@SERVER.tool()
def list_notes() -> list[str]:
    """List all notes."""
    return NOTES


if __name__ == "__main__":
    SERVER.run("stdio")
