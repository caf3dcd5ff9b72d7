"""The head of a response says when to come back, in three ways."""

import pytest

from pondero.canon import ResponseHead

NOON = "Sun, 15 Nov 2026 12:00:00 GMT"
LATER = "Sun, 15 Nov 2026 12:00:09 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": LATER, "date": NOON}, 9.0),
        ({"retry-after": NOON, "date": LATER}, 0.0),
        ({"retry-after": LATER}, None),
        ({"retry-after": LATER, "date": "today"}, None),
        ({"retry-after": LATER, "date": "Sun, 15 Nov 2026 12:00:00"}, None),
        *(({"retry-after": odd}, None) for odd in ("", "soon", "-1", "nan", "inf", "1e9")),
    ],
)
def test_how_long_to_wait_is_told_by_number_or_by_date(headers, seconds):
    assert ResponseHead(429, headers).retry_after == seconds
