"""What the Chat Completions wire can and cannot say."""

from pondero.canon import Target

from ..wire import Wire

WIRE = Wire(
    service="zai",
    target=Target(
        "zai",
        "https://api.z.ai/api/paas/v4",
        {"authorization": "Bearer sk-test"},
        quirks={"replay_field": "reasoning_content", "replay_missing": ""},
    ),
    model="glm-5v-turbo",
    plain="glm-4.6v",
    thinking={},
    finishes=("stop", "length", "content_filter"),
    buckets=frozenset({"input", "cache_read", "output", "thinking"}),
    early_end=True,
    extras={"seed": 7, "metadata": {"k": "v"}},
    lacks=frozenset(
        {
            *("cache", "tool_cache", "adjacent_texts", "order", "several_thoughts"),
            *("redacted", "hidden_thinking", "result_images", "result_errors", "result_names"),
        }
    ),
)
