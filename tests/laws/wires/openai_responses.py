"""What the Responses wire can and cannot say."""

from pondero.canon import Target

from ..wire import Wire

WIRE = Wire(
    service="openai",
    target=Target("openai", "https://api.openai.com/v1", {"authorization": "Bearer sk-test"}),
    model="gpt-5.4",
    plain="gpt-4.1",
    thinking={"reasoning": {"effort": "medium", "summary": "auto"}},
    finishes=("stop", "length", "content_filter"),
    buckets=frozenset({"input", "cache_read", "cache_write", "output", "thinking"}),
    least_tokens=16,
    extras={"metadata": {"k": "v"}},
    lacks=frozenset(
        {
            *("top_k", "stop", "cache", "tool_cache", "redacted"),
            *("result_errors", "result_names", "last_thought"),
            # The wire has it if the input says JSON; that our caller does not say so is shown by
            # tests/referee/test_callers_on_responses.py.
            "schemaless_output",
        }
    ),
)
