"""What the Messages wire can and cannot say."""

from pondero.canon import Target

from ..wire import Wire

WIRE = Wire(
    service="anthropic",
    target=Target("anthropic", "https://api.anthropic.com", {"x-api-key": "sk-ant-test"}),
    model="claude-sonnet-4-6",
    strict_plain=False,  # from Sonnet 4.5 on
    plain="claude-sonnet-4-0",
    thinking={"thinking": {"type": "adaptive"}},
    finishes=("stop", "length", "paused", "refusal", "context_full"),
    buckets=frozenset({"input", "cache_read", "cache_write", "output", "thinking"}),
    extras={"metadata": {"user_id": "u"}, "service_tier": "auto"},
    lacks=frozenset(
        {
            *("many_marks", "max_tokens_absent", "result_names", "output_names"),
            *("schemaless_output", "blank_texts"),
        },
    ),
)
