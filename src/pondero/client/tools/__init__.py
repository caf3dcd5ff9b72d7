"""Tools that a model may call: functions, MCP servers and their schemas."""
