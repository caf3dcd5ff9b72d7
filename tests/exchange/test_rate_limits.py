"""What a service says is left, read from the headers of its answers."""

from pondero.exchange import RateLimit, parse_rate_limits


def test_allowances_are_read_as_the_wire_sheets_write_them():
    now = 1_767_225_600.0  # 2026-01-01
    openai = {
        "x-ratelimit-limit-requests": "500",
        "x-ratelimit-remaining-requests": "499",
        "x-ratelimit-reset-requests": "120ms",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "6m0s",
    }
    assert set(parse_rate_limits(openai, now=now)) == {
        RateLimit("requests", 499, 0.12),
        RateLimit("tokens", 0, 360),
    }
    anthropic = {
        "anthropic-ratelimit-input-tokens-remaining": "1000",
        "anthropic-ratelimit-input-tokens-reset": "2026-01-01T00:00:30Z",
        "anthropic-ratelimit-input-tokens-limit": "2000",
    }
    assert parse_rate_limits(anthropic, now=now) == (RateLimit("input-tokens", 1000, 30),)
    assert parse_rate_limits({"x-ratelimit-remaining-requests": "?", "date": "x"}, now=now) == ()
