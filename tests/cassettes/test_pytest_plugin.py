"""Cassettes in a user's own tests: the mark, the fixture, the folder."""

import inspect
import re
import sys
import tomllib
from pathlib import Path

import pytest
from tests.transport.scripted import SUM, Scripted, ok

import pondero
from pondero import pytest_plugin
from pondero.vcr import Cassette

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "cassettes.md").read_text("utf-8")

SERVICE = """\
import itertools

from pondero.canon import HttpRequest, ResponseHead
from pondero.exchange import Timeouts

count = itertools.count(1)


class Said:
    head = ResponseHead(200, {"x": "y"})

    def __init__(self, text):
        self.pieces = [text.encode()]

    def __iter__(self):
        return iter(self.pieces)

    def close(self):
        pass


class Service:
    needs_key = False

    def send(self, request, timeouts):
        return Said(f"live {next(count)}")

    def close(self):
        pass


def ask(cassette, body=b"{}"):
    cassette._transport = Service()
    request = HttpRequest("POST", "https://api.test/v1", {"x-api-key": "k3y-of-the-house"}, body)
    return b"".join(cassette.send(request, Timeouts())).decode()
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest in a folder of its own, with our plugin whether or not it is installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("VCR_RECORD", raising=False)
    pytester.makepyfile(service=SERVICE)
    pytester.syspathinsert()

    def run(*args, record=False):
        if record:
            monkeypatch.setenv("VCR_RECORD", "1")
        else:
            monkeypatch.delenv("VCR_RECORD", raising=False)
        plugins = ("-p", "pondero.pytest_plugin", "-p", "anyio")
        return pytester.runpytest_inprocess(*plugins, "--strict-markers", *args)

    return run


def test_a_test_records_once_and_plays_ever_after(pytester, run):
    pytester.makepyfile(
        test_it="""
        from service import ask

        def test_sum(pondero_cassette):
            assert ask(pondero_cassette) == "live 1"
        """
    )
    run().assert_outcomes(failed=1)
    run(record=True).assert_outcomes(passed=1)
    assert (pytester.path / "cassettes" / "test_sum.jsonl").exists()
    for _ in range(2):
        run().assert_outcomes(passed=1)


def test_a_missing_cassette_says_how_to_record_it(pytester, run):
    pytester.makepyfile(
        "from service import ask\ndef test_sum(pondero_cassette): ask(pondero_cassette)"
    )
    result = run()
    result.stdout.fnmatch_lines(
        ["*CassetteError: there is no cassette *test_sum.jsonl; *VCR_RECORD=1"]
    )


@pytest.mark.parametrize(
    ("mark", "name", "file"),
    [
        ("", "test_one", "cassettes/test_one.jsonl"),
        ('@pytest.mark.pondero_cassette("sums")', "test_one", "cassettes/sums.jsonl"),
        ('@pytest.mark.pondero_cassette(name="a/b.jsonl")', "test_one", "cassettes/a/b.jsonl"),
        ("@pytest.mark.parametrize('x', ['a/b c'])", "test_one", "cassettes/test_one_a_b_c.jsonl"),
    ],
)
def test_the_file_is_named_by_the_mark_or_the_test(pytester, run, mark, name, file):
    argument = "x, " if "parametrize" in mark else ""
    pytester.makepyfile(
        f"import pytest\nfrom service import ask\n"
        f"{mark}\ndef {name}({argument}pondero_cassette): ask(pondero_cassette)"
    )
    run(record=True).assert_outcomes(passed=1)
    assert (pytester.path / file).exists()


def test_a_method_is_named_with_its_class_and_a_folder_by_the_option(pytester, run):
    pytester.makeini("[pytest]\npondero_cassettes = kept/here\n")
    pytester.makepyfile(
        "from service import ask\n"
        "class TestSums:\n"
        "    def test_one(self, pondero_cassette): ask(pondero_cassette)"
    )
    run(record=True).assert_outcomes(passed=1)
    assert (pytester.path / "kept" / "here" / "TestSums.test_one.jsonl").exists()


def test_options_of_the_mark_reach_the_cassette(pytester, run):
    pytester.makepyfile(
        """
        import os, pytest
        from service import ask

        @pytest.mark.pondero_cassette(match=["method"], secrets=["hunter2"])
        def test_one(pondero_cassette):
            ask(pondero_cassette, b"hunter2" if "VCR_RECORD" in os.environ else b"other")
        """
    )
    run(record=True).assert_outcomes(passed=1)
    assert "hunter2" not in (pytester.path / "cassettes" / "test_one.jsonl").read_text()
    run().assert_outcomes(passed=1)


def test_exchanges_that_are_not_played_fail_the_test(pytester, run):
    pytester.makepyfile(
        """
        import os
        from service import ask

        def test_one(pondero_cassette):
            ask(pondero_cassette, b"1")
            if pondero_cassette.path.with_suffix(".fewer").exists():
                return
            ask(pondero_cassette, b"2")
        """
    )
    run(record=True).assert_outcomes(passed=1)
    (pytester.path / "cassettes" / "test_one.fewer").touch()
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*CassetteError: 1 of 2 exchanges in *test_one.jsonl not played"])


def test_a_test_that_fails_anyway_is_not_told_about_what_was_not_played(pytester, run):
    pytester.makepyfile(
        """
        import os
        from service import ask

        def test_one(pondero_cassette):
            assert "VCR_RECORD" in os.environ, "the real reason"
            ask(pondero_cassette)
        """
    )
    run(record=True).assert_outcomes(passed=1)
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the real reason*"])
    result.stdout.no_fnmatch_line("*not played*")


def test_a_test_that_passes_live_and_not_on_its_fresh_cassette_fails(pytester, run):
    pytester.makepyfile(
        """
        import time
        from service import ask

        def test_one(pondero_cassette):
            ask(pondero_cassette, str(time.perf_counter_ns()).encode())
        """
    )
    result = run(record=True)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*It passed while it was recorded, and fails on the fresh cassette."]
    )


def test_the_second_run_can_be_declined(pytester, run):
    pytester.makepyfile(
        """
        import pytest, time
        from service import ask

        @pytest.mark.pondero_cassette(replay=False)
        def test_one(pondero_cassette):
            ask(pondero_cassette, str(time.perf_counter_ns()).encode())
        """
    )
    run(record=True).assert_outcomes(passed=1)
    assert (pytester.path / "cassettes" / "test_one.jsonl").exists()


def test_what_came_before_a_failed_assertion_is_recorded(pytester, run):
    pytester.makepyfile(
        "from service import ask\n"
        "def test_one(pondero_cassette):\n"
        "    ask(pondero_cassette)\n"
        "    assert False"
    )
    run(record=True).assert_outcomes(failed=1)
    assert "live" in (pytester.path / "cassettes" / "test_one.jsonl").read_text()


def test_a_key_in_a_recording_fails_the_test_and_leaves_no_file(pytester, run):
    pytester.makepyfile(
        "from service import ask\n"
        "def test_one(pondero_cassette): ask(pondero_cassette, b'sk-' + b'a1' * 20)"
    )
    result = run(record=True)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*test_one.jsonl was not written: something in it looks like a key"]
    )
    assert not list(pytester.path.glob("cassettes/*"))


def test_a_mark_without_the_fixture_is_refused(pytester, run):
    pytester.makepyfile("import pytest\n@pytest.mark.pondero_cassette\ndef test_one(): pass")
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*test_one has the mark pondero_cassette and takes none of *"])


def test_two_tests_that_would_share_a_file_are_refused(pytester, run):
    text = "def test_one(pondero_cassette): pass"
    pytester.makepyfile(test_a=text, test_b=text)
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*test_one and *test_one would share *give one a name*"])


PAIR = """
import pytest
from service import ask

@pytest.mark.pondero_cassette("pair")
def test_a(pondero_cassette): ask(pondero_cassette, b"1")

@pytest.mark.pondero_cassette(name="pair.jsonl")
def test_b(pondero_cassette): ask(pondero_cassette, %r)
"""


def test_two_tests_that_would_record_one_named_file_are_refused(pytester, run):
    pytester.makepyfile(PAIR % b"2")
    result = run(record=True)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*::test_a and *::test_b would both record *pair.jsonl, and the second replace the first*"]
    )
    assert not list(pytester.path.glob("cassettes/*"))


def test_tests_that_send_the_same_may_play_one_named_file(pytester, run):
    pytester.makepyfile(PAIR % b"1")
    run("-k", "test_a", record=True).assert_outcomes(passed=1, deselected=1)
    run().assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("mark", "why"),
    [
        ('nme="x"', "has no 'nme'; did you mean 'name'? use name match record replay secrets *"),
        ("wrong=1", "has no 'wrong'; use name match record replay secrets source"),
        ("5", "has the name 5; use a text"),
        ('"a", "b"', "takes one name, not 2"),
        ('"a", name="b"', "takes one name, not 2"),
    ],
)
def test_a_wrong_mark_is_refused_by_its_name(pytester, run, mark, why):
    pytester.makepyfile(
        f"import pytest\n@pytest.mark.pondero_cassette({mark})\n"
        "def test_one(pondero_cassette): pass"
    )
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*::test_one: the mark pondero_cassette {why}"])


def test_the_mark_takes_the_options_of_a_cassette():
    options = {
        name
        for name, each in inspect.signature(Cassette).parameters.items()
        if each.kind is each.KEYWORD_ONLY
    }
    assert {*pytest_plugin.OPTIONS} == options | {"name", "replay"}


def test_the_documentations_test_runs_as_printed(pytester, run):
    [block] = re.findall(r"```python\n(import pondero\nimport pytest\n.*?)```", DOCS, re.DOTALL)
    service = Scripted(ok(*SUM))
    cassette = Cassette(pytester.path / "cassettes" / "sums.jsonl", service, record=True)
    with pondero.Client(transport=cassette, keys={"anthropic": "k3y-of-the-house"}) as client:
        client.ask("claude-opus-5/high", "What is 17 * 23?")
    pytester.makepyfile(block)
    run().assert_outcomes(passed=1)


def test_asyncio_has_a_cassette_too(pytester, run):
    pytester.makepyfile(
        """
        import pytest
        from service import Said
        from pondero.canon import HttpRequest
        from pondero.exchange import Timeouts

        class Answer:
            head = Said.head

            async def __aiter__(self):
                yield b"live"

            async def aclose(self):
                pass

        class Service:
            needs_key = False

            async def send(self, request, timeouts):
                return Answer()

            async def aclose(self):
                pass

        @pytest.fixture
        def anyio_backend():
            return "asyncio"

        @pytest.mark.anyio
        async def test_one(pondero_async_cassette):
            pondero_async_cassette._transport = Service()
            async with pondero_async_cassette as cassette:
                request = HttpRequest("POST", "https://api.test/", {}, b"{}")
                answer = await cassette.send(request, Timeouts())
                assert [piece async for piece in answer] == [b"live"]
        """
    )
    run(record=True).assert_outcomes(passed=1)
    run().assert_outcomes(passed=1)


def test_the_plugin_imports_nothing_until_a_test_asks(pytester):
    code = (
        "import sys, pytest; before = set(sys.modules); import pondero.pytest_plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )
    result = pytester.run(sys.executable, "-c", code)
    assert result.outlines == ["pondero pondero.errors pondero.lazy pondero.pytest_plugin"]


def test_the_package_announces_the_plugin():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"pondero": "pondero.pytest_plugin"}
