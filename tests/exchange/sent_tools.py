"""The functions of a request body, read from each API's JSON."""


def sent_tools(body):
    """Return the name, schema and strict flag of every function on offer, in any API's words."""
    tools = body.get("tools") or (body.get("toolConfig") or {}).get("tools") or []
    found = []
    for tool in tools:
        if "functionDeclarations" in tool:
            found += [
                (each["name"], each.get("parameters", each.get("parametersJsonSchema")), None)
                for each in tool["functionDeclarations"]
            ]
        elif "toolSpec" in tool:
            spec = tool["toolSpec"]
            found.append((spec["name"], spec["inputSchema"]["json"], spec.get("strict")))
        elif "function" in tool:
            inner = tool["function"]
            found.append((inner["name"], inner.get("parameters"), inner.get("strict")))
        elif "name" in tool:
            schema = tool.get("input_schema", tool.get("parameters"))
            found.append((tool["name"], schema, tool.get("strict")))
    return found
