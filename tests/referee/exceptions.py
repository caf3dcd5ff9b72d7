"""Recorded requests that the emulator decides otherwise, each with its reason, by file."""

from collections.abc import Mapping

_NOT_YET = "not decided as the service did yet"

EXCEPTIONS: Mapping[str, Mapping[str, str]] = {
    "openai-responses": {
        "b0461fb532-558417aa83": "recorded as OpenAI, but vLLM answered; the emulated one takes it",
    },
    "openai-chat": dict.fromkeys(
        (
            "efe19b410f-8be9eb7483",
            "7533f9861c-34ddf52c7b",
            "7533f9861c-e094ab6ca5",
            "d3d077d95a-fbc5192584",
            "d3d077d95a-728c6fc6bd",
            "07ebde9fc2-04cdf3221a",
            "1b98f01eaa-bddf343994",
            "4821c5f04e-73859b2149",
        ),
        _NOT_YET,
    ),
    "openai-compat": dict.fromkeys(
        (
            "24c8ca098a-04de79b2b8",
            "5f0dd13dbb-e008b656ea",
            "eadf8157dd-6e41a1a475",
            "a2eb2aed15-352d5bf80f",
            "a1ba433152-9844200e1a",
            "8834109009-0d285384b7",
            "f2970b2147-a400707242",
            "8834109009-54476b2ef4",
            "23d7080816-e56b70fc9e",
            "1aed4ab91c-89b34e2e4b",
            "23d7080816-9b927943f2",
            "1aed4ab91c-e6822c2390",
            "b52cec579a-6565b6de58",
            "b52cec579a-6a29eb0f31",
            "a1efa45707-81c37db0b3",
            "a330d2986b-eb7fb4e2b9",
            "a1efa45707-4a7dfa9934",
        ),
        _NOT_YET,
    ),
    "groq": dict.fromkeys(
        (
            "202efc8988-b55ff1e758",
            "3673fc926f-f1ecbc52f9",
            "3673fc926f-171192c204",
            "202efc8988-77a0832b03",
            "192bed6cdb-810adb6bf1",
            "192bed6cdb-80a4eb311a",
            "8eaacb6be6-b280bcf8e6",
            "8eaacb6be6-47ab785b5d",
            "de13a72cab-d126e65b67",
            "4d41cdfe84-0e2c82cac7",
            "de13a72cab-bbff5de352",
            "274e926bfb-891805550a",
            "1669e61846-5f16b96661",
            "f8276d79d4-42dbb4b312",
            "5b71f31a39-70ee8bf782",
        ),
        _NOT_YET,
    ),
    "mistral": dict.fromkeys(
        (
            "f21265876a-e9199511f2",
            "3d07579d61-46c38cdfac",
            "3d07579d61-a7c6b4b519",
            "0d6a02ed6d-d7a9c0c44a",
            "0d6a02ed6d-22222c31a0",
            "6d7a6b17b8-70d81b97e2",
            "6d7a6b17b8-4c1839c39a",
        ),
        _NOT_YET,
    ),
    "openrouter": dict.fromkeys(
        (
            "e9ab1411b1-77fb393e05",
            "3ababa4f45-c5dd421369",
            "92b7ecbca1-dc5304afe2",
            "bd50e0a866-898b7c3e41",
            "0257930f45-836df19c9d",
            "0257930f45-1378f772fd",
            "60479e79cb-784783a4b4",
            "fef53dc638-6926828153",
            "fff0a11dac-2811738ec1",
            "67084fc59b-b287800532",
            "f620db7b81-d8191eabe3",
            "89d5e335fd-b60c6bf9b5",
            "0dd89adbb9-15828a2a8e",
            "7d8f4862f0-be30b3c7b5",
            "4a4d835883-5477a26244",
            "97f67455ed-497f49ef18",
        ),
        _NOT_YET,
    ),
    "gemini": {
        "680299c286-47c16f1490": "its texts were replaced by a word, so it is not too long any more",
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
<<<<<<< HEAD
    },
    "bedrock-converse": dict.fromkeys(
        (
            "ec358efc22-dfd2ec385f",
            "6d67d33ca9-610ca71b13",
            "53c4fbc487-664d9ede52",
        ),
        _NOT_YET,
    ),
=======
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
    "bedrock-converse": {
        "ec358efc22-dfd2ec385f": "too long a prompt, of which the recording keeps a stand-in",
    },
>>>>>>> ref-an
}
