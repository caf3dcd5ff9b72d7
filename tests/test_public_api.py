"""The front door: few names, nothing heavy behind it until it is opened."""

import subprocess
import sys

import pondero


def test_the_public_names_are_these():
    assert sorted(pondero.__all__) == [
        "Adjustment",
        "AsyncChat",
        "AsyncClient",
        "AuthFailed",
        "BadThinking",
        "Blob",
        "Chat",
        "Client",
        "ContextTooLong",
        "Decoded",
        "Image",
        "Message",
        "MissingKey",
        "Overloaded",
        "Plan",
        "Policy",
        "PonderoError",
        "PonderoWarning",
        "Prepared",
        "RateLimited",
        "Refused",
        "Reply",
        "Retry",
        "ServiceError",
        "Text",
        "ThinkingLike",
        "Timeout",
        "Timeouts",
        "Tool",
        "TransportError",
        "UnknownModel",
        "UsageError",
        "WireError",
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


def test_every_error_is_reachable_through_the_front_door():
    assert pondero.errors.Malformed.__mro__[1] is pondero.WireError
    assert {error.__module__ for error in (pondero.RateLimited, pondero.Timeout)} == {
        "pondero.errors"
    }


def test_no_module_of_others_is_hidden_while_ours_are_loaded():
    script = """
import builtins, sys
real = builtins.__import__
def watched(name, *rest):
    assert None not in sys.modules.values(), [n for n, m in sys.modules.items() if m is None]
    return real(name, *rest)
builtins.__import__ = watched
import pondero
pondero.plan("gpt-5", "high")
"""
    subprocess.run([sys.executable, "-c", script], check=True)
