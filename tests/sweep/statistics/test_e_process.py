"""Rules of the e-process that its proof rests on."""

from hypothesis import given
from hypothesis import strategies as st

from pondero.sweep.statistics.e_process import EProcess

units = st.lists(st.sampled_from([-1.0, 0.0, 0.0, 1.0]), max_size=80)


@given(st.floats(0.05, 1.0), units)
def test_an_arm_hands_on_at_most_what_it_began_with(share, seen):
    bets = EProcess(margin=0.05, share=share)
    for number, unit in enumerate(seen):
        bets.see(unit, 200 - number)
    capital, won = bets.capital, bets.is_won
    assert bets.hand_on() == (share if won else min(capital, share))
    assert bets.capital == 0


def test_capital_that_grew_is_not_handed_on():
    bets = EProcess(margin=0.05, share=0.5)
    for left in range(100, 70, -1):
        bets.see(0.0, left)
    assert not bets.is_won
    assert bets.capital > 0.5
    assert bets.hand_on() == 0.5
