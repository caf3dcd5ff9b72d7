"""What the Interactions wire can and cannot say."""

from pondero.canon import Target

from ..wire import Wire

WIRE = Wire(
    service="google-interactions",
    target=Target(
        "google-interactions",
        "https://generativelanguage.googleapis.com/v1beta",
        {"x-goog-api-key": "test"},
    ),
    model="gemini-3-flash-preview",
    plain="gemini-2.5-flash-lite",
    thinking={"generation_config": {"thinking_level": "medium", "thinking_summaries": "auto"}},
    finishes=("stop", "length", "content_filter"),
    buckets=frozenset({"input", "cache_read", "output", "thinking"}),
    thinks_first=True,
    extras={"service_tier": "flex", "generation_config": {"seed": 7}},
    lacks=frozenset(
        {
            *("top_k", "cache", "tool_cache", "result_cache", "redacted", "parallel", "strict"),
            *("several_systems", "system_message", "output_names"),
            "result_names",  # always there, so only a name other than the call's means anything
        }
    ),
)
