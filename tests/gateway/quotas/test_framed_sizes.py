"""What a question in a known frame reserves is kept for its size, and for a minute."""

from collections.abc import Iterator

import anyio
import pytest
from msgspec.structs import replace
from tests.gateway.quotas.test_framed_need import _compare, _find_framed
from tests.gateway.requests.test_known_frames import PATCH

from pondero.gateway.quotas import framed_bound
from pondero.gateway.quotas.admission import plan_admission
from pondero.gateway.quotas.framed_bound import find_frame_needs
from pondero.gateway.requests.routed_request import RoutedRequest
from pondero.gateway.server import app as app_module


@pytest.fixture(autouse=True)
def _steady(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    PATCH.setenv("FRAME_KEY", "sk-provider")
    monkeypatch.setitem(vars(app_module), "make_id", vars(app_module)["make_id"])  # put back
    yield
    PATCH.undo()


def _find_bounded() -> RoutedRequest:
    return anyio.run(plan_admission, _find_framed()).routed


def _ask(routed: RoutedRequest, text: str) -> RoutedRequest:
    (message,) = routed.request.messages
    asked = replace(message, parts=(replace(message.parts[0], text=text),))
    return replace(routed, request=replace(routed.request, messages=(asked,)))


def test_questions_of_many_sizes_reserve_as_much_as_without_a_frame():
    sizes = [*range(1, 300, 7), *range(1, 300, 14)]
    texts = tuple(("é" if size % 2 else "a") * size for size in sizes)

    async def run() -> None:
        await _compare("anthropic", "anthropic", texts, key="budget")

    anyio.run(run)


def test_only_some_sizes_are_kept():
    routed = _find_bounded()

    async def plan() -> list[int]:
        plans = [await plan_admission(_ask(routed, "a" * size)) for size in range(1, 900, 4)]
        return [each.need.amounts["tokens"] for each in plans]

    assert len(set(anyio.run(plan))) > 64
    kept = find_frame_needs(routed)
    assert kept is not None
    assert 0 < len(kept.known) <= 32


def test_what_is_kept_holds_for_a_minute_because_prices_do(monkeypatch):
    routed = _find_bounded()
    monkeypatch.setattr(framed_bound, "time", lambda: 60.0)
    first = find_frame_needs(routed)
    anyio.run(plan_admission, routed)
    assert find_frame_needs(routed) is first
    monkeypatch.setattr(framed_bound, "time", lambda: 120.0)
    then = find_frame_needs(routed)
    assert first is not None
    assert then is not None
    assert first.known
    assert not then.known
