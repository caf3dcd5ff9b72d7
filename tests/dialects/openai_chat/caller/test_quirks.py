"""Every deployment of the catalog says its quirks in words this dialect knows."""

import json

import msgspec
import pytest

from pondero.catalog import load_shipped
from pondero.dialects.openai_chat.caller.quirks import Quirks, quirks_of
from pondero.errors import BadCatalog

DEPLOYMENTS = [p for p in load_shipped().providers.values() if p.dialect == "openai_chat"]


@pytest.mark.parametrize("provider", DEPLOYMENTS, ids=lambda provider: provider.name)
def test_the_catalogs_quirks_are_known(provider):
    assert provider.quirks.keys() <= set(Quirks.__struct_fields__)
    quirks = quirks_of(provider.quirks)
    for name, value in provider.quirks.items():
        assert json.loads(msgspec.json.encode(getattr(quirks, name))) == value


def test_no_quirks_are_the_usual_ones():
    assert quirks_of({}) == Quirks()


def test_a_quirk_nobody_knows_is_passed_over():
    assert quirks_of({"unheard_of": 1}) == Quirks()


@pytest.mark.parametrize("wrong", [{"replay_field": "x"}, {"think_tags": "yes"}, {"headers": 3}])
def test_a_quirk_with_a_wrong_value_is_the_catalogs_fault(wrong):
    with pytest.raises(BadCatalog):
        quirks_of(wrong)
