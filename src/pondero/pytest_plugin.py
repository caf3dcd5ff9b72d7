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
OPTIONS = ("name", "match", "record", "replay", "secrets", "source")
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
        f"{_MARK}(name=None, *, match=..., record=..., secrets=..., source=..., replay=True): "
        "the cassette of this test; "
        "replay=False does not run it again on what was just recorded",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Reject tests that share a file without naming it, and a wrong mark or one without fixture."""
    owners: dict[Path, pytest.Item] = {}
    for item in items:
        mark = item.get_closest_marker(_MARK)
        taken = set(_FIXTURES) & set(getattr(item, "fixturenames", ()))
        if mark and not taken:
            message = f"{item.nodeid} has the mark {_MARK} and takes none of {' '.join(_FIXTURES)}"
            raise pytest.UsageError(message)
        if mark and (why := _find_mistake(mark)):
            raise pytest.UsageError(f"{item.nodeid}: the mark {_MARK} {why}")
        if taken and not (mark and (mark.args or "name" in mark.kwargs)):
            first = owners.setdefault(_path(item), item)
            if first is not item:
                message = (
                    f"{first.nodeid} and {item.nodeid} would share {_path(item)}; "
                    f'give one a name: @pytest.mark.{_MARK}("...")'
                )
                raise pytest.UsageError(message)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Reject two tests of this run that would record one file that both name."""
    owners: dict[Path, pytest.Item] = {}
    for item in session.items:
        mark = item.get_closest_marker(_MARK)
        if not set(_FIXTURES) & set(getattr(item, "fixturenames", ())):
            continue
        if mark and _find_mistake(mark):
            continue  # pytest calls this hook although the one above rejected the mark
        path = _path(item)
        first = owners.setdefault(path, item)
        if first is not item and path.suffix == ".jsonl" and _is_recorded(item):
            message = (
                f"{first.nodeid} and {item.nodeid} would both record {path}, and the second "
                "replace the first; name a file for each. Tests that send the same requests may "
                "share a file: record one of them with -k"
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


def _find_mistake(mark: pytest.Mark) -> str | None:
    """Return the mistake in a mark; None if there is none."""
    for option in mark.kwargs:
        if option not in OPTIONS:
            from .catalog import did_you_mean  # noqa: PLC0415 - see the module

            return f"has no {option!r}; {did_you_mean(option, OPTIONS)}use {' '.join(OPTIONS)}"
    names = [*mark.args, *(value for option, value in mark.kwargs.items() if option == "name")]
    if len(names) > 1:
        return f"takes one name, not {len(names)}"
    if names and not isinstance(names[0], str | None):
        return f"has the name {names[0]!r}; use a text"
    return None


def _is_recorded(item: pytest.Item) -> bool:
    from .vcr import Cassette  # noqa: PLC0415 - see the module

    return Cassette(_path(item), **_options(item)).recording


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
