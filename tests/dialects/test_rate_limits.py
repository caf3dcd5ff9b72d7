"""The rate-limit headers of each API, as recorded exchanges have them."""

import pytest
from msgspec.structs import replace

from pondero.dialects import RateLimit, get_dialect

NOW = 1_748_988_800.0  # 2025-06-03T22:13:20Z


@pytest.mark.parametrize(
    ("dialect", "headers", "found"),
    [
        (
            "anthropic",
            {
                "anthropic-ratelimit-requests-limit": "4000",
                "anthropic-ratelimit-requests-remaining": "3999",
                "anthropic-ratelimit-requests-reset": "2025-06-03T22:13:21Z",
                "anthropic-ratelimit-input-tokens-limit": "200000",
                "anthropic-ratelimit-input-tokens-remaining": "0",
                "anthropic-ratelimit-input-tokens-reset": "2025-06-03T22:13:35Z",
                "anthropic-ratelimit-output-tokens-limit": "80000",
                "anthropic-ratelimit-output-tokens-remaining": "79000",
                "anthropic-ratelimit-output-tokens-reset": "2025-06-03T22:13:20Z",
            },
            [
                RateLimit("requests", 3999, 4000, 1.0),
                RateLimit("tokens", 0, 200_000, 15.0),
                RateLimit("output_tokens", 79_000, 80_000, 0.0),
            ],
        ),
        (
            "openai_responses",
            {
                "x-ratelimit-limit-requests": "500",
                "x-ratelimit-remaining-requests": "499",
                "x-ratelimit-reset-requests": "120ms",
                "x-ratelimit-remaining-tokens": "7",
                "x-ratelimit-reset-tokens": "6m0s",
            },
            [RateLimit("requests", 499, 500, 0.12), RateLimit("tokens", 7, None, 360.0)],
        ),
        (
            "openai_chat",  # Cerebras
            {
                "x-ratelimit-remaining-requests-day": "28800",
                "x-ratelimit-reset-requests-day": "51631.5",
                "x-ratelimit-remaining-tokens-minute": "5",
                "x-ratelimit-reset-tokens-minute": "31.5",
            },
            [RateLimit("requests", 28_800, None, 51_631.5), RateLimit("tokens", 5, None, 31.5)],
        ),
        (
            "openai_chat",  # Mistral
            {"x-ratelimit-limit-req-minute": "60", "x-ratelimit-remaining-req-minute": "50"},
            [RateLimit("requests", 50, 60, 60.0)],
        ),
        (
            "openai_chat",  # OpenRouter
            {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1748988830000"},
            [RateLimit("requests", 0, None, 30.0)],
        ),
        (
            "openai_chat",  # seconds since 1970
            {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1748988830"},
            [RateLimit("requests", 0, None, 30.0)],
        ),
        ("openai_chat", {"x-ratelimit-remaining-requests": "many"}, []),
        (
            "openai_chat",
            {"x-ratelimit-remaining-tokens": "1", "x-ratelimit-reset-tokens": "soon"},
            [RateLimit("tokens", 1, None, 60.0)],
        ),
        ("gemini", {"retry-after": "3"}, []),
    ],
)
def test_the_limits_that_a_service_reports_are_read(dialect, headers, found):
    limits = get_dialect(dialect).caller().rate_limits.read(headers, NOW)
    assert [replace(each, name="") for each in limits] == found
    names = [each.name for each in limits]
    assert len({*names}) == len(names)
    assert {*names} <= headers.keys()
