"""The documentation site: it builds strictly, every page is found, and every block of Python runs."""

import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import pondero
from pondero.cli.app import run
from pondero.client import default_client as shared_clients
from pondero.emulator import Emulator

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
ELSEWHERE = {
    "batch.md": "tests/batch/test_docs.py",
    "cassettes.md": "tests/cassettes/test_cassette_client.py",
    "contracts.md": "tests/contract/test_docs.py",
    "emulator.md": "tests/emulator/test_docs.py",
    "from/generate-content.md": "tests/test_coming_from.py",
    "from/litellm.md": "tests/test_coming_from.py",
    "from/llm.md": "tests/test_coming_from.py",
    "from/programs.md": "tests/examples/test_elsewhere.py",
    "from/pydantic-ai.md": "tests/test_coming_from.py",
    "from/vendor-sdks.md": "tests/test_coming_from.py",
    "gateway.md": "tests/gateway/test_stored_sdk.py",
    "guides/change-the-level.md": "tests/client/test_python_page.py",
    "guides/conversations.md": "tests/client/test_python_page.py",
    "guides/failures.md": "tests/client/test_python_page.py",
    "guides/tools.md": "tests/client/test_python_page.py",
    "guides/transport.md": "tests/client/test_python_page.py",
    "guides/typing.md": "tests/client/test_python_page.py",
    "guides/values.md": "tests/client/test_python_page.py",
    "plugins.md": "tests/plugins/test_recipes.py",
    "python.md": "tests/client/test_python_page.py",
    "recipes.md": "tests/oracles/test_recipes.py",
    "sweep.md": "tests/sweep/test_docs.py",
    "why.md": "tests/hazards/test_why.py",
}
"""Pages whose blocks need more than a service that answers, and the tests that run them."""


def _text(page):
    return (DOCS / page).read_text("utf-8")


def _blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", _text(page), re.DOTALL | re.MULTILINE)


RUN_HERE = [page for page in PAGES if page not in ELSEWHERE]


# --- the site -----------------------------------------------------------------------------------


class _Sources(HTMLParser):
    """What a page loads by itself: scripts, styles, pictures, frames."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag in ("script", "img", "iframe", "source") and given.get("src"):
            self.found.append(given["src"])
        if tag == "link" and given.get("rel") not in ("canonical", "prev", "next"):
            self.found.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as ``make site`` builds it: a dead link or a page in no menu ends the build."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_the_site_builds_strictly_and_has_every_page(site):
    for page in (*PAGES, "contributing.md", "changelog.md"):
        folder = re.sub(r"(^|/)(index|README)$", "", page.removesuffix(".md"))
        assert (site / folder / "index.html").is_file(), page
    assert not list(site.rglob("*.py"))


def test_no_page_loads_anything_from_another_host(site):
    loaded = [
        source
        for page in site.rglob("*.html")
        for source in _Sources(page.read_text("utf-8")).found
    ]
    assert len(loaded) > 100
    assert [each for each in loaded if urlsplit(each).netloc] == []


def test_the_api_pages_show_every_name_with_its_docstring(site):
    for page in ("api", "api-testing", "api-sweep"):
        html = (site / "reference" / page / "index.html").read_text("utf-8")
        for name in re.findall(r"^::: (\S+)$", _text(f"reference/{page}.md"), re.MULTILINE):
            assert re.search(rf'id="pondero\.[\w.]*{name.rpartition(".")[2]}"', html), name


def test_examples_and_fields_are_shown_as_such(site):
    html = (site / "reference" / "api" / "index.html").read_text("utf-8")
    assert html.count('<span class="gp">&gt;&gt;&gt; </span>') > 60
    assert "<blockquote>" not in html  # what >>> would be
    assert "<td><code>first_byte</code></td>" in html


def test_a_dead_link_ends_the_build(tmp_path):
    pytest.importorskip("mkdocs")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(
        "# A page\n\n[nothing](nothing.md) and [none](#none)\n"
    )
    settings = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nvalidation:")[2]
    (tmp_path / "mkdocs.yml").write_text(
        "site_name: x\nplugins: []\nstrict: true\nvalidation:" + settings.partition("\ntheme:")[0]
    )
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(tmp_path.parent / "out")],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert built.returncode == 1
    assert "2 warnings" in built.stdout + built.stderr


# --- pages --------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_a_title_and_says_first_what_it_is_good_for(page):
    title, _, rest = _text(page).partition("\n")
    assert re.fullmatch(r"# \S.*", title)
    assert (
        len(
            re.findall(
                r"^# ",
                re.sub(r"^```.*?^```", "", rest, flags=re.DOTALL | re.MULTILINE),
                re.MULTILINE,
            )
        )
        == 0
    )
    first = re.sub(r" <!-- .*? -->", "", rest.strip().partition("\n\n")[0])
    assert not re.match(r"[#|`!<>-]", first) or re.match(r"`[^`]+` ", first), first
    assert len(first.split()) >= 6, first
    assert first.rstrip()[-1] in ".:)", first


@pytest.mark.parametrize("page", PAGES)
def test_a_list_has_a_blank_line_before_it(page):
    """Without one the repository shows a list and the site a paragraph."""
    text = re.sub(r"^```.*?^```", "", _text(page), flags=re.DOTALL | re.MULTILINE)
    joined = re.findall(r"^(?![-*] |\d+\. |\s|\|)\S.*\n(?:[-*]|\d+\.) .*", text, re.MULTILINE)
    assert joined == []


def test_links_to_files_outside_of_docs_work_on_the_site():
    pytest.importorskip("mkdocs")
    relinked = runpy.run_path(str(DOCS / "site.py"))["relinked"]

    def links(text, page):
        return relinked(text, page, "https://host")

    assert links("[a](../README.md#x)", "a.md") == "[a](https://host/blob/main/README.md#x)"
    assert links("[a](../../README.md)", "from/a.md") == "[a](https://host/blob/main/README.md)"
    assert links("[a](../CONTRIBUTING.md)", "a.md") == "[a](contributing.md)"
    assert links("[a](../../CONTRIBUTING.md)", "from/a.md") == "[a](../contributing.md)"
    assert links("[a](docs/levels.md#x)", "contributing.md") == "[a](levels.md#x)"
    assert links("[a](changes/README.md)", "changelog.md").startswith("[a](https://host/blob/")
    assert links("[a](b.md) ![c](pictures/d.svg)", "a.md") == "[a](b.md) ![c](pictures/d.svg)"
    for kept in ("[a](https://b.example)", "[a](#b)", "`[a](../README.md)`", "```\n[a](../x)\n```"):
        assert links(kept, "a.md") == kept


@pytest.mark.parametrize(
    "file", [*(f"docs/{page}" for page in PAGES), "README.md", "CONTRIBUTING.md"]
)
def test_every_link_names_a_file_of_the_repository(file):
    """The build checks links between pages; this checks them as the repository shows them."""
    text = re.sub(
        r"^```.*?^```|`[^`\n]*`",
        "",
        (ROOT / file).read_text("utf-8"),
        flags=re.DOTALL | re.MULTILINE,
    )
    for target in re.findall(r"\]\((?![a-z]+:|#)([^)\s#]+)", text):
        assert ((ROOT / file).parent / target).exists(), target


# --- blocks -------------------------------------------------------------------------------------


@pytest.fixture
def offline(monkeypatch, tmp_path, config_dir, data_dir):
    """Whatever a page asks, the emulator answers, and what it keeps is this test's alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr(pondero.Client, "_make_http_transport", lambda _: Emulator())
    monkeypatch.setattr(pondero.AsyncClient, "_make_http_transport", lambda _: Emulator())
    for held in ("_SHARED", "_ASHARED"):
        monkeypatch.setattr(shared_clients, held, {})
    monkeypatch.setattr(shared_clients, "_close_at_exit", lambda client: client)
    for name in ("ANTHROPIC", "OPENAI", "GEMINI", "DEEPSEEK"):
        monkeypatch.setenv(f"{name}_API_KEY", f"sk-planted-{name}")
    for module, kind in (("trace", "TRACER"), ("metrics._internal", "METER")):
        api = sys.modules.get(f"opentelemetry.{module}")
        for name in (f"_{kind}_PROVIDER", f"_{kind}_PROVIDER_SET_ONCE"):
            if api is not None:  # a process has one provider; give it back
                monkeypatch.setattr(api, name, getattr(api, name))


@pytest.mark.parametrize(
    ("page", "block"),
    [
        pytest.param(page, block, id=f"{page}-{number}")
        for page in RUN_HERE
        for number, block in enumerate(_blocks(page, "python"))
    ],
)
def test_python_runs_as_printed_and_its_comments_are_true(page, block, offline, capsys):
    if page == "threads.md":  # it shows the last thread
        run(["ask", "--offline", "claude-opus-5/low", "Hello"])
    exec(compile(block, page, "exec", dont_inherit=True), {"__name__": "page"})
    printed = capsys.readouterr().out
    for said in re.findall(r"print\(.*\)  # ([\d({\[].*)$", block, re.MULTILINE):
        assert said in printed


def test_every_page_with_python_is_run_by_a_test():
    for page, test in ELSEWHERE.items():
        assert f'"{page}"' in (ROOT / test).read_text("utf-8"), page
        assert _blocks(page, "python"), page


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith(("index", "start/"))])
def test_commands_print_what_is_printed(page, offline, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for block in _blocks(page, "console"):
        command, _, shown = block.removeprefix("$ ").partition("\n")
        assert run(shlex.split(command)[1:]) == 0
        assert capsys.readouterr().out == shown


QUICKSTARTS = "tests/test_quickstarts.py"  # runs them in a shell


@pytest.mark.parametrize(
    "page",
    [
        page
        for page in PAGES
        if page.startswith("start/")
        and f'"{Path(page).stem}"' not in (ROOT / QUICKSTARTS).read_text("utf-8")
    ],
)
def test_command_lines_work(page, offline, capsys):
    lines = [line for block in _blocks(page, "sh") for line in block.splitlines()]
    for line in lines:
        words = shlex.split(line, comments=True)
        if words[0] == "pondero" and words[1] != "chat":  # a screen: tests/tui
            assert run(words[1:]) in ((0, 1) if words[1] == "doctor" else (0,)), line
            said = capsys.readouterr()
            assert said.out or said.err


def test_every_variable_that_the_code_reads_is_on_the_page_of_settings():
    read = {
        name
        for file in (ROOT / "src" / "pondero").rglob("*.py")
        for name in re.findall(
            r"environ[^\n]*?\"(PONDERO_\w+|VCR_RECORD)\"", file.read_text("utf-8")
        )
    }
    assert {"PONDERO_MODEL", "PONDERO_CONFIG_DIR"} <= read
    assert [name for name in sorted(read) if f"`{name}`" not in _text("reference/config.md")] == []


def test_the_page_of_tracing_has_the_names_that_we_tell():
    text = (ROOT / "tests/client/tracing/gen_ai_conventions.toml").read_text("utf-8")
    conventions = tomllib.loads(text)
    page = _text("guides/tracing.md")
    rows = [row["name"] for kind in conventions["spans"].values() for row in kind["attributes"]]
    never = {"gen_ai.agent.name", "openai.response.system_fingerprint"}
    ours = {
        name
        for file in (ROOT / "src/pondero/client/tracing").glob("*.py")
        for name in re.findall(r'"(pondero\.\w+)"', file.read_text("utf-8"))
    }
    assert len(ours) > 5
    told = {*rows, *conventions["metrics"], *ours} - never
    assert [name for name in sorted(told) if f"`{name}`" not in page] == []
    said = set(re.findall(r"`((?:gen_ai|openai|pondero|server)\.[\w.]+)`", page))
    assert said - told == {"gen_ai.client.inference.operation.details", "gen_ai.token.type"}
    assert conventions["version"] in page
