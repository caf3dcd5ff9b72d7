"""The matrix: every vendor's SDK in front, the strict emulator behind, eleven checks a cell.

The checks are those of ``pondero contract through``. Here the vendors' own SDKs run them, and what
pondero sends is held to its own plan, which another gateway need not follow.
"""

from collections.abc import Iterator

import msgspec
import pytest
from tests.gateway.sdks import FRONTS, Front

import pondero
from pondero.contract.through import BACKS, MatrixCell, Referee, checks
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, ServerConfig
from pondero.gateway.server.run import run_gateway_in_thread

pytestmark = [
    pytest.mark.judge,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    # Sockets that an SDK leaves to the garbage collector when it raises.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

OTHER = dict(zip(BACKS, [*list(BACKS)[1:], next(iter(BACKS))], strict=True)) | {"opus": "gpt"}
ENVELOPE = b"cG5kRXYx"  # how our envelopes begin


@pytest.fixture(scope="module")
def referee() -> Referee:
    return Referee()


@pytest.fixture(scope="module")
def url(referee: Referee) -> Iterator[str]:
    routes = tuple(
        GatewayRoute(match=name, to=(back.model,), retries=0) for name, back in BACKS.items()
    )
    with run_gateway_in_thread(
        GatewayConfig(ServerConfig(port=0), routes), transport=referee
    ) as where:
        yield where


@pytest.fixture(params=FRONTS, ids=[front.name for front in FRONTS])
def front(request, url: str, referee: Referee) -> Iterator[Front]:
    referee.reset()
    made = request.param(url)
    yield made
    made.close()


@pytest.fixture(params=BACKS)
def cell(request, referee: Referee) -> MatrixCell:
    other = OTHER[request.param]
    return MatrixCell(request.param, BACKS[request.param], referee, other, BACKS[other])


def _within(value, fields) -> bool:
    if not isinstance(fields, dict):
        return value == fields
    return isinstance(value, dict) and all(
        name in value and _within(value[name], each) for name, each in fields.items()
    )


def _shows(body: bytes, back: str, level: str) -> bool:
    """Return whether a body says this level as pondero says it to this model."""
    sent = msgspec.json.decode(body)
    for room in (16_000, None):
        plan = pondero.plan(f"{BACKS[back].model}/{level}", max_tokens=room)
        wanted = {
            k: v for k, v in plan.fields.items() if k not in ("max_tokens", "inferenceConfig")
        }
        if _within(sent, wanted):
            return True
    return False


# -- the checks --------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("level", ["high", "low"])
def test_c1_the_level_arrives_and_the_thinking_comes_back(front, cell, level, stream):
    checks.level_arrives(front, cell, level, stream=stream)
    if front.states_levels:
        body = cell.referee.bodies[0]
        assert _shows(body, cell.name, level), body
    cell.referee.reset()
    checks.thinking_comes_back(front, cell, stream=stream, level=level)


def test_c2_off_is_off(front, cell):
    checks.check_off(front, cell)
    body = cell.referee.bodies[0]
    assert _shows(body, cell.name, "off"), body


def test_c3_a_call_streams_with_thinking_before_it(front, cell):
    checks.call_with_thinking(front, cell)


def test_c4_turn_two_has_the_backs_own_seals(front, cell):
    checks.signature_turn_two(front, cell)


def test_c5_turn_three_goes_on(front, cell):
    checks.third_turn(front, cell)


def test_c6_the_counts_are_the_backs(front, cell):
    checks.usage(front, cell)


def test_c7_another_model_goes_on(front, cell):
    checks.switch(front, cell)
    _is_pondero_s(front, cell)


def test_c7m_another_model_goes_on_in_the_middle_of_a_tool_loop(front, cell):
    checks.switch_in_loop(front, cell)
    _is_pondero_s(front, cell)


def _is_pondero_s(front: Front, cell: MatrixCell) -> None:
    body = cell.referee.bodies[-1]
    assert ENVELOPE not in body
    if front.states_levels:
        assert _shows(body, OTHER[cell.name], "high"), body


def test_c8_errors_are_the_fronts_own(front, cell):
    checks.errors(front, cell)


def test_c9_a_hang_up_closes_the_upstream(front, cell):
    checks.hang_up(front, cell)


def test_c10_parallel_calls_and_their_results(front, cell):
    checks.parallel_calls(front, cell)
