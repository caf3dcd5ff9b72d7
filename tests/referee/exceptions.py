"""Recorded requests that the emulator decides otherwise, each with its reason, by file."""

from collections.abc import Mapping

EXCEPTIONS: Mapping[str, Mapping[str, str]] = {
    "openai-responses": {
        "b0461fb532-558417aa83": "recorded as OpenAI, but vLLM answered; the emulated one takes it",
    },
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
    "cohere": {
        "cebd64713e-49f402708f": "the model failed to generate; nothing was wrong with the request",
        **dict.fromkeys(
            (
                "fe8e8e11aa-7d7cae62bb",
                "1f19d8e0bc-b9fcfa70d5",
                "1f19d8e0bc-60058bb379",
                "39cf395a4e-a94e359de1",
                "39cf395a4e-71d3fb17bc",
                "a557d8e0ee-27ba4cd7b7",
                "946d1412c8-f47b03ef78",
                "a557d8e0ee-8f8eeacd73",
            ),
            "sent to /v1/chat; the emulator plays /v2/chat only",
        ),
    },
    "bedrock-converse": {
        "ec358efc22-dfd2ec385f": "too long a prompt, of which the recording keeps a stand-in",
    },
}
