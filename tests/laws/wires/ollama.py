"""What the /api/chat wire can and cannot say."""

from pondero.canon import Target

from ..wire import Wire

WIRE = Wire(
    service="ollama-cloud",  # the one that asks for a key
    target=Target("ollama-cloud", "https://ollama.com", {"authorization": "Bearer test"}),
    model="gemma4:31b",
    plain="mistral-large-3:675b",
    thinking={"think": True},
    finishes=("stop", "length"),
    buckets=frozenset({"input", "output"}),
    extras={"keep_alive": "5m", "options": {"seed": 7}},
    lacks=frozenset(
        {
            *("cache", "tool_cache", "adjacent_texts", "order", "several_thoughts", "media_order"),
            *("redacted", "hidden_thinking", "image_urls", "blobs", "result_images"),
            *("result_errors", "strict", "parallel", "output_names", "several_systems"),
            *("forced_tools", "named_tool", "no_tools", "auto_choice"),
            "result_names",  # always there, so only a name other than the call's means anything
        }
    ),
)
