"""A law: a short name means one model, whichever part of pondero is asked."""

from hypothesis import given
from hypothesis import strategies as st

import pondero
from pondero.cli.start import resolve_start
from pondero.client import Client, load_catalog
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig
from pondero.gateway.config.routing import Routing
from pondero.store import Settings
from pondero.sweep.arms import arms_of, find_arms
from pondero.thinking import Policy
from pondero.tui import DialView

SHORT = load_catalog().short_names
GATEWAY = Routing(GatewayConfig(open=frozenset(load_catalog().catalog.providers)), load_catalog())


@given(st.sampled_from(sorted(SHORT)), st.sampled_from(["off", "low", "high", "max"]))
def test_command_line_library_chat_gateway_and_sweep_mean_the_same_model(name, level):
    meant = SHORT[name].id
    typed = f"{name}/{level}"
    start = resolve_start(typed, settings=Settings())
    assert load_catalog().entry(start.model).id == meant
    assert start.thinking == level
    made = pondero.plan(typed)
    assert made.model == meant
    assert made.adjustments[0].code == "model_short"
    assert made.adjustments[0].got == meant
    assert DialView(load_catalog(), Policy()).split(typed) == (meant, level)
    routed = GATEWAY.resolve(typed)
    assert (routed.entries[0].id, routed.level) == (meant, level)
    arms = arms_of([typed])
    assert [arm.model for arm in arms] == [meant]
    assert find_arms(arms, typed) == [0]


@given(st.sampled_from(["opus", "flash", "gpt", "deepseek"]))
def test_the_model_that_answers_is_the_one_that_is_named(name):
    with Client(transport=Emulator(any_model=True)) as client:
        reply = client.ask(f"{name}/low", "What is 17 * 23?")
    assert reply.plan.model == SHORT[name].id
    assert reply.text
