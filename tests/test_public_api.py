"""The front door: few names, nothing heavy behind it until it is opened."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
        "asweep",
        "attachment",
        "decode",
        "levels",
        "models",
        "plan",
        "sweep",
    ]


def test_there_are_few_of_them_and_each_belongs_to_one_of_four_kinds():
    """More than these belong to a room that is imported by its name: pondero.emulator, .vcr, .sdk."""
    functions = {
        "aask",
        "ask",
        "asweep",
        "attachment",
        "decode",
        "levels",
        "models",
        "plan",
        "sweep",
    }
    clients = {"AsyncChat", "AsyncClient", "Chat", "Client"}
    errors = {
        name
        for name in pondero.__all__
        if isinstance(kind := getattr(pondero, name), type)
        and issubclass(kind, (pondero.PonderoError, pondero.PonderoWarning))
    }
    values = {*pondero.__all__} - functions - clients - errors
    assert len(errors) == 15  # those that a program catches; all are in pondero.errors
    assert len(values) == 14  # what goes into a call or comes out of one
    assert functions | clients | errors | values == {*pondero.__all__}


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


def test_every_public_type_is_known_to_a_type_checker():
    """An attribute whose type has to be guessed is one that two checkers guess differently."""
    pytest.importorskip("pyright")
    tools = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(tools), os.environ["PATH"]]),  # it asks the python it finds
        "PYTHONPATH": str(Path(pondero.__file__).parents[1]),
        "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1",
    }
    run = subprocess.run(
        [tools / "pyright", "--verifytypes", "pondero", "--ignoreexternal"],
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    unknown = [line for line in run.stdout.splitlines() if "error:" in line]
    assert unknown == []
    assert "Type completeness score: 100%" in run.stdout, run.stdout[-2000:] + run.stderr
