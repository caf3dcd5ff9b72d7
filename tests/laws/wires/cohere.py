"""What the v2 chat wire can and cannot say."""

from pondero.canon import Target

from ..wire import Wire

WIRE = Wire(
    service="cohere",
    target=Target("cohere", "https://api.cohere.com", {"authorization": "Bearer test"}),
    model="command-a-plus-05-2026",
    plain="command-a-plus-05-2026",  # the only one with both pictures and tools
    thinking={"thinking": {"type": "enabled"}},
    finishes=("stop", "length"),
    buckets=frozenset({"input", "cache_read", "output", "thinking"}),
    extras={"seed": 7, "safety_mode": "STRICT"},
    lacks=frozenset(
        {
            *("cache", "tool_cache", "order", "redacted", "hidden_thinking", "blobs"),
            *("result_images", "result_errors", "result_names", "strict", "parallel"),
            *("output_names", "output_beside_tools", "named_tool", "auto_choice"),
            "top_p",  # its range ends before 1
        }
    ),
)
