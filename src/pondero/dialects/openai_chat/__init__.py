"""Chat Completions: OpenAI's wire, which many other providers copied and changed a little.

How one deployment differs is data: quirks from the catalog on the caller's side, tables in
``service/providers`` on the service's side.
"""
