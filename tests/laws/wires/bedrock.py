"""What the Converse wire can and cannot say."""

from pondero.canon import Target

from ..wire import Wire

WIRE = Wire(
    service="bedrock",
    target=Target(
        "bedrock",
        "https://bedrock-runtime.us-east-1.amazonaws.com",
        {"authorization": "Bearer test"},
        quirks={"messages_fields_of": ["claude-"]},
    ),
    model="us.anthropic.claude-sonnet-4-6",
    strict_plain=False,  # from Sonnet 4.5 on
    plain="us.anthropic.claude-sonnet-4-20250514-v1:0",
    thinking={"additionalModelRequestFields": {"thinking": {"type": "adaptive"}}},
    finishes=("stop", "length", "content_filter", "context_full"),
    buckets=frozenset({"input", "cache_read", "cache_write", "output"}),
    extras={"requestMetadata": {"k": "v"}, "serviceTier": {"type": "default"}},
    early_end=True,
    lacks=frozenset(
        {
            *("image_urls", "result_cache", "result_names", "parallel"),
            *("output_names", "schemaless_output", "blank_texts", "blanks_beside"),
            "blobs",  # there, but never without a name and words beside them
        }
    ),
)
