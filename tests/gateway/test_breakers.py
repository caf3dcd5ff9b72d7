"""A deployment that keeps failing is rested, then probed once."""

from hypothesis import given
from hypothesis import strategies as st

from pondero.gateway.breakers import FAILURES, REST, WITHIN, Breakers


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _failing(clock: Clock, times: int = FAILURES, every: float = 1.0) -> Breakers:
    breakers = Breakers(clock)
    for _ in range(times):
        clock.now += every
        breakers.failed("a")
    return breakers


def test_the_fifth_failure_within_half_a_minute_opens_it():
    clock = Clock()
    assert not _failing(clock, FAILURES - 1).is_open("a")
    assert _failing(clock).is_open("a")
    assert not _failing(clock, every=WITHIN / 2).is_open("a")


def test_another_deployment_is_not_concerned():
    assert not _failing(Clock()).is_open("b")


def test_after_the_rest_one_request_probes():
    clock = Clock()
    breakers = _failing(clock)
    clock.now += REST
    assert [breakers.is_open("a") for _ in range(3)] == [False, True, True]
    breakers.failed("a")
    assert breakers.is_open("a")
    clock.now += REST
    assert not breakers.is_open("a")
    breakers.went_well("a")
    assert [breakers.is_open("a") for _ in range(3)] == [False] * 3


def test_a_probe_that_the_client_left_makes_room_for_another():
    clock = Clock()
    breakers = _failing(clock)
    clock.now += REST
    assert not breakers.is_open("a")
    breakers.left("a")
    assert not breakers.is_open("a")


def test_its_state_can_be_seen():
    breakers = _failing(Clock())
    assert breakers.states() == {"a": "open"}


@given(st.lists(st.sampled_from(["failed", "went_well", "asked", "waited"])))
def test_it_is_never_shut_for_good(moves):
    clock = Clock()
    breakers = Breakers(clock)
    for move in moves:
        match move:
            case "waited":
                clock.now += REST
            case "asked":
                if not breakers.is_open("a"):
                    breakers.failed("a")
            case _:
                getattr(breakers, move)("a")
    clock.now += REST
    assert not breakers.is_open("a")
