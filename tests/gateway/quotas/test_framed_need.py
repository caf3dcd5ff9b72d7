"""A question in a known frame reserves what it would without one."""

from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gateway.requests.test_known_frames import (
    FIELDS,
    FIRST,
    HEADERS,
    KEYS,
    PATCH,
    TEXTS,
    World,
    write_question,
)
from tests.gateway.test_conversation_memo import BACKS

from pondero.errors import PonderoError
from pondero.gateway.config.model import LevelRules
from pondero.gateway.quotas.admission import AdmissionPlan, plan_admission
from pondero.gateway.quotas.framed_bound import find_frame_needs
from pondero.gateway.requests import lookup
from pondero.gateway.requests.routed_request import RoutedRequest
from pondero.gateway.server import app as app_module
from pondero.thinking import parse_intent


@pytest.fixture(autouse=True)
def _steady(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    PATCH.setenv("FRAME_KEY", "sk-provider")
    monkeypatch.setitem(vars(app_module), "make_id", vars(app_module)["make_id"])  # put back
    yield
    PATCH.undo()


async def _route(
    front: str, back: str, texts: tuple[str, ...], *, key: str, fields: int = 0, headers: int = 0
) -> list[RoutedRequest]:
    """Return the requests of these texts whose frame is known, before they are admitted."""
    found: list[RoutedRequest] = []
    admit = vars(lookup)["admit"]

    async def note(gateway: Any, routed: RoutedRequest) -> Any:
        if routed.framed is not None:
            found.append(routed)
        return await admit(gateway, routed)

    world = World(back, knows=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup, "admit", note)
        for text in (*FIRST, *texts):
            http = write_question(front, fields, text, 0, spaced=False)
            await world.ask(http, key, HEADERS[headers])
    return found


async def _plan(routed: RoutedRequest) -> AdmissionPlan | str:
    try:
        return await plan_admission(routed)
    except PonderoError as error:
        return repr(error)


def _without_frame(plan: AdmissionPlan | str) -> Any:
    if isinstance(plan, str):
        return plan
    return replace(plan, need=replace(plan.need, routed=replace(plan.routed, framed=None)))


async def _compare(*names: str, **more: Any) -> None:
    for routed in await _route(*names, **more):  # type: ignore[arg-type]  # drawn
        known, anew = await _plan(routed), await _plan(replace(routed, framed=None))
        assert _without_frame(known) == anew


@pytest.mark.parametrize("front", BACKS)
@given(data=st.data())
@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    deadline=None,
)
def test_whatever_is_asked_as_much_is_reserved_as_without_a_frame(front, data):
    back = data.draw(st.sampled_from(list(BACKS)))
    texts = tuple(data.draw(st.lists(st.sampled_from(TEXTS) | st.text(), max_size=3)))
    key = data.draw(st.sampled_from([each.name for each in KEYS]))
    fields = data.draw(st.integers(0, len(FIELDS[front]) - 1))
    headers = data.draw(st.integers(0, len(HEADERS) - 1))

    async def run() -> None:
        await _compare(front, back, texts, key=key, fields=fields, headers=headers)

    anyio.run(run)


def _find_framed(key: str = "budget") -> RoutedRequest:
    async def find() -> RoutedRequest:
        return (await _route("anthropic", "anthropic", ("And so?",), key=key))[-1]

    return anyio.run(find)


def test_the_frame_of_a_plain_question_says_what_it_needs():
    routed = _find_framed()
    need = find_frame_needs(routed)
    assert need is not None
    assert find_frame_needs(routed) is need


def test_another_limit_needs_another_reservation():
    routed = _find_framed()
    longer = replace(routed, request=replace(routed.request, max_tokens=40_000))
    needs = [find_frame_needs(each) for each in (routed, longer, routed)]
    assert [each.most for each in needs if each is not None] == [900, 40_000, 900]


def test_a_level_that_a_calibration_may_change_is_planned_anew():
    routed = _find_framed()
    rules = replace(routed.rules, levels=(LevelRules(default="auto"),))
    asked = replace(routed.requested_level, intent=parse_intent("auto"))
    for each in (replace(routed, rules=rules), replace(routed, requested_level=asked)):
        assert find_frame_needs(each) is None
