"""Cassettes in pytest: a mark that names the file, and a fixture that is the transport.

Loaded by every pytest run where pondero is installed, so it imports nothing until a test asks.
"""

import re
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .vcr import AsyncCassette, Cassette

_MARK = "pondero_cassette"
_FIXTURES = ("pondero_cassette", "pondero_async_cassette")
_FOLDER = "pondero_cassettes"
_SUFFIXES = (".jsonl", ".yaml", ".yml")
_HELD = pytest.StashKey["Cassette | AsyncCassette"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ini option that says where cassettes are."""
    parser.addini(
        _FOLDER, "folder of cassettes, from the root; default: cassettes/ next to the test"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark."""
    config.addinivalue_line(
        "markers",
        f"{_MARK}(name=None, *, match=..., secrets=..., replay=True): the cassette of this test; "
        "replay=False does not run it again on what was just recorded",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Reject two tests that record to one file, and a mark without its fixture."""
    owners: dict[Path, pytest.Item] = {}
    for item in items:
        mark = item.get_closest_marker(_MARK)
        taken = set(_FIXTURES) & set(getattr(item, "fixturenames", ()))
        if mark and not taken:
            message = f"{item.nodeid} has the mark {_MARK} and takes none of {' '.join(_FIXTURES)}"
            raise pytest.UsageError(message)
        if taken and not (mark and (mark.args or "name" in mark.kwargs)):
            first = owners.setdefault(_path(item), item)
            if first is not item:
                message = (
                    f"{first.nodeid} and {item.nodeid} would share {_path(item)}; "
                    f'give one a name: @pytest.mark.{_MARK}("...")'
                )
                raise pytest.UsageError(message)


@pytest.fixture
def pondero_cassette(request: pytest.FixtureRequest) -> Generator["Cassette"]:
    """The cassette of this test, a transport: played, or recorded with VCR_RECORD=1.

    >>> @pytest.mark.pondero_cassette("sums")
    ... def test_sums(pondero_cassette):
    ...     with pondero.Client(transport=pondero_cassette) as client:
    ...         assert "391" in client.ask("claude-opus-5/high", "What is 17 * 23?").text
    """
    from .vcr import Cassette  # noqa: PLC0415 - see the module

    with Cassette(_path(request.node), **_options(request.node)) as cassette:
        request.node.stash[_HELD] = cassette
        yield cassette


@pytest.fixture
def pondero_async_cassette(request: pytest.FixtureRequest) -> Generator["AsyncCassette"]:
    """The cassette of this test for asyncio; close what it records through with ``async with``.

    >>> async def test_sums(pondero_async_cassette):
    ...     async with pondero.AsyncClient(transport=pondero_async_cassette) as client:
    ...         assert (await client.ask("claude-opus-5/high", "What is 17 * 23?")).text
    """
    from .vcr import AsyncCassette  # noqa: PLC0415 - see the module

    cassette = AsyncCassette(_path(request.node), **_options(request.node))
    request.node.stash[_HELD] = cassette
    yield cassette
    cassette.save()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Check that a test plays all of its cassette, and that a fresh recording plays."""
    result = yield
    cassette = pyfuncitem.stash.get(_HELD, None)
    if cassette is None:
        return result
    if cassette.recording:
        mark = pyfuncitem.get_closest_marker(_MARK)
        if mark is None or mark.kwargs.get("replay", True):
            cassette.rewind()
            return _again(pyfuncitem)
    elif cassette.path.exists():
        cassette.assert_played()
    return result


def _again(pyfuncitem: pytest.Function) -> object:
    """Run the test again on what it recorded, so that a useless recording is found now."""
    try:
        return pyfuncitem.ihook.pytest_pyfunc_call(pyfuncitem=pyfuncitem)
    except Exception as error:
        error.add_note("It passed while it was recorded, and fails on the fresh cassette.")
        raise


def _path(item: Any) -> Path:
    mark = item.get_closest_marker(_MARK)
    name = (mark.args[0] if mark.args else mark.kwargs.get("name")) if mark else None
    if name is None:
        owner = f"{item.cls.__name__}." if getattr(item, "cls", None) else ""
        name = re.sub(r"[^\w.-]+", "_", f"{owner}{item.name}").strip("_")
    if not name.endswith(_SUFFIXES):
        name = f"{name}.jsonl"
    named = item.config.getini(_FOLDER)
    folder = item.config.rootpath / named if named else item.path.parent / "cassettes"
    return Path(folder / name)


def _options(item: Any) -> dict[str, Any]:
    mark = item.get_closest_marker(_MARK)
    given = mark.kwargs if mark else {}
    return {key: value for key, value in given.items() if key not in ("name", "replay")}
