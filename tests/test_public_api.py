"""The front door: few names, nothing heavy behind it until it is opened."""

import contextlib
import os
import pkgutil
import subprocess
import sys
import venv
from importlib import import_module, metadata
from pathlib import Path

import pytest
from tools import core_lock

import pondero

ROOT = Path(__file__).parents[1]


def test_the_public_names_are_these():
    assert sorted(pondero.__all__) == [
        "Adjustment",
        "AdjustmentNote",
        "AsyncBatch",
        "AsyncChat",
        "AsyncClient",
        "AsyncHttpTransport",
        "AsyncStream",
        "AsyncTurn",
        "AuthFailed",
        "BadThinking",
        "Batch",
        "BatchAnswer",
        "Blob",
        "CacheBreakpoint",
        "Chat",
        "Client",
        "ConnectionLimits",
        "ContextTooLong",
        "Cost",
        "Decoded",
        "Event",
        "FastTransport",
        "Finished",
        "HttpTransport",
        "Image",
        "Level",
        "LevelUpdate",
        "Message",
        "MissingKey",
        "ModelPrice",
        "Origin",
        "Overloaded",
        "Part",
        "PartEnd",
        "PartStart",
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
        "ServiceModel",
        "Signature",
        "Started",
        "Stream",
        "Text",
        "TextDelta",
        "Thinking",
        "ThinkingDelta",
        "ThinkingLike",
        "Timeout",
        "Timeouts",
        "TokenCount",
        "TokenLogprob",
        "Tool",
        "ToolCall",
        "ToolChoice",
        "ToolDelta",
        "ToolResult",
        "TransportError",
        "Turn",
        "UnknownModel",
        "UnknownPart",
        "Usage",
        "UsageError",
        "UsageUpdate",
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
    clients |= {"AsyncBatch", "AsyncStream", "AsyncTurn", "Batch", "Stream", "Turn"}
    clients |= {"AsyncHttpTransport", "FastTransport", "HttpTransport"}
    errors = {
        name
        for name in pondero.__all__
        if isinstance(kind := getattr(pondero, name), type)
        and issubclass(kind, (pondero.PonderoError, pondero.PonderoWarning))
    }
    values = {*pondero.__all__} - functions - clients - errors
    assert len(errors) == 15  # those that a program catches; all are in pondero.errors
    assert len(values) == 43  # what goes into a call or comes out of one
    assert functions | clients | errors | values == {*pondero.__all__}


def test_every_public_name_can_be_had_and_is_listed():
    for name in pondero.__all__:
        assert getattr(pondero, name)
        assert name in dir(pondero)


@pytest.mark.parametrize("room", [each.name for each in pkgutil.iter_modules(pondero.__path__)])
def test_every_name_that_a_room_lists_can_be_had(room):
    try:
        module = import_module(f"pondero.{room}")
    except (ImportError, pondero.UsageError) as error:  # an extra that is not installed
        pytest.skip(str(error))
    for name in getattr(module, "__all__", ()):
        assert hasattr(module, name), name


def test_an_error_that_is_not_public_names_its_place():
    with pytest.raises(AttributeError, match=r"use pondero\.errors\.Malformed"):
        pondero.Malformed  # noqa: B018


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


@pytest.fixture(scope="module")
def plain_install(tmp_path_factory):
    """A Python that has pondero's own dependencies and no extra, as links to what is installed."""
    folder = tmp_path_factory.mktemp("plain")
    venv.create(folder, symlinks=os.name != "nt")
    [site] = {*folder.glob("lib/python*/site-packages"), *folder.glob("Lib/site-packages")}
    lock = core_lock.blocks((ROOT / "requirements.lock").read_text("utf-8"))
    for name in core_lock.needed(lock, core_lock.wanted(ROOT / "pyproject.toml")):
        with contextlib.suppress(metadata.PackageNotFoundError):  # of another platform
            package = metadata.distribution(name)
            for top in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
                found = Path(package.locate_file(top))
                if found.exists() and not (site / top).exists():
                    (site / top).symlink_to(found)
    return folder / ("Scripts" if os.name == "nt" else "bin")


@pytest.mark.parametrize("extras", ["with extras", "without extras"])
def test_every_public_type_is_known_to_a_type_checker(extras, plain_install):
    """An attribute whose type has to be guessed is one that two checkers guess differently."""
    pytest.importorskip("pyright")
    tools = Path(sys.executable).parent
    python = tools if extras == "with extras" else plain_install
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(python), os.environ["PATH"]]),  # it asks the python it finds
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
