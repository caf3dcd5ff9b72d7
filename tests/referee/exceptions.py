"""Recorded requests that the emulator decides otherwise, each with its reason, by file."""

from collections.abc import Mapping

_NOT_YET = "not decided as the service did yet"

EXCEPTIONS: Mapping[str, Mapping[str, str]] = {
    "anthropic": dict.fromkeys(
        (
            "a660002698-063ad42d79",
            "a660002698-5d25630f43",
        ),
        _NOT_YET,
    ),
    "openai-responses": dict.fromkeys(
        (
            "b0461fb532-558417aa83",
            "6d02263686-524b4a21de",
            "f282d538d9-99a5bbc564",
            "a1e81b7bca-03ceb73397",
            "a1e81b7bca-56b8793522",
        ),
        _NOT_YET,
    ),
    "openai-compat": {
        "24c8ca098a-04de79b2b8": "the context of 512 tokens is a setting of that server",
        "a330d2986b-eb7fb4e2b9": "the service could not read a picture that others read",
    },
    "mistral": {
        "f21265876a-e9199511f2": "the recorder replaced the id of the call, which has to fit a pattern",
    },
    "openrouter": {
        "92b7ecbca1-dc5304afe2": "the fault of an upstream: others took the same request",
        "bd50e0a866-898b7c3e41": "the fault of an upstream: the field that it misses was sent",
    },
    "gemini": dict.fromkeys(
        (
            "680299c286-47c16f1490",
            "beae6a343a-9b4d7d550b",
            "beae6a343a-6415414e9e",
            "8e3a12b017-e4c19e7c5a",
            "8e3a12b017-39c0a81443",
        ),
        _NOT_YET,
    ),
    "cohere": dict.fromkeys(
        (
            "fe8e8e11aa-7d7cae62bb",
            "1f19d8e0bc-b9fcfa70d5",
            "1f19d8e0bc-60058bb379",
            "cebd64713e-49f402708f",
            "39cf395a4e-a94e359de1",
            "39cf395a4e-71d3fb17bc",
            "a557d8e0ee-27ba4cd7b7",
            "946d1412c8-f47b03ef78",
            "a557d8e0ee-8f8eeacd73",
        ),
        _NOT_YET,
    ),
    "bedrock-converse": dict.fromkeys(
        (
            "ec358efc22-dfd2ec385f",
            "6d67d33ca9-610ca71b13",
            "53c4fbc487-664d9ede52",
        ),
        _NOT_YET,
    ),
}
