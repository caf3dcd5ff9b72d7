"""The front door: few names, nothing heavy behind it until it is opened."""

import pondero


def test_the_public_names_are_these():
    assert sorted(pondero.__all__) == [
        "Adjustment",
        "AsyncChat",
        "AsyncClient",
        "Chat",
        "Client",
        "Decoded",
        "Plan",
        "Policy",
        "PonderoError",
        "Prepared",
        "Reply",
        "aask",
        "ask",
        "decode",
        "levels",
        "models",
        "plan",
    ]
    assert len(pondero.__all__) <= 40


def test_every_public_name_can_be_had_and_is_listed():
    for name in pondero.__all__:
        assert getattr(pondero, name)
        assert name in dir(pondero)


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(pondero, "nonsense")
