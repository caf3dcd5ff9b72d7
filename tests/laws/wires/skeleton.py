"""What the skeleton's wire can and cannot say."""

from pondero.canon import Target

from ..wire import Wire

WIRE = Wire(
    service="skeleton",
    target=Target("skeleton", "https://api.example", {"authorization": "Bearer test"}),
    model="sketch-1",
    plain="sketch-0",
    thinking={"think": "on"},
    finishes=("stop", "length"),
    buckets=frozenset({"input", "output"}),
    extras={"seed": 7},
    lacks=frozenset(
        {
            *("top_p", "top_k", "both_samplings", "stop", "cache", "tool_cache", "result_cache"),
            *("several_systems", "images", "image_urls", "blobs", "result_images", "media_order"),
            *("redacted", "hidden_thinking", "strict", "parallel", "output", "output_names"),
            *("output_beside_tools", "schemaless_output", "forced_tools", "named_tool", "no_tools"),
            *("auto_choice", "result_errors", "result_names"),
        }
    ),
)
