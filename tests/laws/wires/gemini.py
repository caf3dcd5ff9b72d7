"""What the generateContent wire can and cannot say."""

from pondero.canon import Target

from ..wire import Wire

WIRE = Wire(
    service="google",
    target=Target(
        "google", "https://generativelanguage.googleapis.com/v1beta", {"x-goog-api-key": "test"}
    ),
    model="gemini-3-flash-preview",
    plain="gemini-2.5-flash-lite",
    thinking={"generationConfig": {"thinkingConfig": {"includeThoughts": True}}},
    finishes=("stop", "length", "content_filter"),
    buckets=frozenset({"input", "cache_read", "output", "thinking"}),
    extras={
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
        "generationConfig": {"seed": 7},
    },
    early_end=True,
    lacks=frozenset(
        {
            *("cache", "tool_cache", "redacted", "parallel", "strict", "system_message"),
            *("output_names", "hidden_thinking"),
            "adjacent_alike",  # readers join the texts of two chunks
            "result_images",  # there, but apart from the words: in which order is not said
            "result_names",  # always there, so only a name other than the call's means anything
        }
    ),
)
