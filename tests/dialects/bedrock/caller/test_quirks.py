"""What a deployment says of its models."""

import pytest

from pondero.client import load_catalog
from pondero.dialects.bedrock.caller.request import Quirks, read_quirks
from pondero.errors import BadCatalog


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("us.anthropic.claude-sonnet-4-6", True),
        ("anthropic.claude-opus-5", True),
        ("claude-opus-5", True),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-5", True),
        ("amazon.nova-2-lite-v1:0", False),
        ("us.not-claude-at-all", False),
    ],
)
def test_the_catalog_says_whose_own_fields_are_those_of_the_messages_api(model, takes):
    quirks = read_quirks(load_catalog().catalog.providers["bedrock"].quirks)
    assert quirks.takes_messages_fields(model) is takes


def test_where_nothing_is_said_no_model_takes_them():
    assert not Quirks().takes_messages_fields("anthropic.claude-opus-5")


def test_a_quirk_of_the_wrong_kind_is_a_bad_catalog():
    with pytest.raises(BadCatalog, match="quirk"):
        read_quirks({"messages_fields_of": 3})
