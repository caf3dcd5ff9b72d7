"""What is published: the wheel and the sdist, tried where nothing but the core is installed."""

import email
import hashlib
import os
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from shutil import copy2, copytree

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import pondero
from pondero.cli.app import app

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
# What brings the sentence about each extra; `doctor` names all of them as well.
HINTS = {
    "tui": ["-c", "from pondero.cli.commands.chat import _check_textual as check; check()"],
    "fast": ["-c", "from pondero.transport import FastTransport"],
    "socks": ["-c", "from pondero.transport import HttpTransport as T; T(proxy='socks5://h:1')"],
    "http2": ["-c", "from pondero.transport import AsyncHttpTransport as T; T(http2=True)"],
    "server": ["-m", "pondero", "emulate", "--port", "0"],
    "bedrock": ["-m", "pondero", "ask", "bedrock:amazon.nova-2-lite-v1:0", "hello"],
    "gateway": ["-m", "pondero", "serve", "--offline", "--port", "0"],
}
# Nothing stops without these: keys go to a file, prices are not shown, a server is not offered.
UNMISSED = {"keyring", "prices", "mcp", "ray"}


def build(source: Path, folder: Path, *targets: str) -> list[Path]:
    """Build as `make package` does: by the backend itself, with nothing downloaded."""
    made = [word for target in targets for word in ("-t", target)]
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder), *made]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the wheel and the sdist."""
    sdist, wheel = sorted(
        build(ROOT, tmp_path_factory.mktemp("dist"), "sdist", "wheel"),
        key=lambda path: path.suffix == ".whl",
    )
    return wheel, sdist


@pytest.fixture(scope="module")
def files(built):
    """Return the digest of every file in the wheel."""
    return digests(built[0])


def digests(wheel: Path) -> dict[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def test_the_wheel_has_every_file_of_the_source_and_no_other(files):
    source = ROOT / "src"
    ours = {
        path.relative_to(source).as_posix()
        for path in (source / "pondero").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in files if ".dist-info/" not in name}
    assert packed == ours
    assert {name.partition("/")[0] for name in files} == {
        "pondero",
        f"pondero-{pondero.__version__}.dist-info",
    }
    for needed in (
        "py.typed",
        "catalog/data/catalog.json",
        "gateway/admin/console/index.html",
        "tui/_screen/chat.tcss",
    ):
        assert f"pondero/{needed}" in files


def test_the_sdist_makes_the_same_wheel(built, files, tmp_path):
    with tarfile.open(built[1]) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    (again,) = build(source, tmp_path / "dist", "wheel")
    assert digests(again) == files


def test_the_sdist_has_what_its_tests_and_its_makefile_name(built):
    with tarfile.open(built[1]) as archive:
        tops = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    assert tops >= {
        "src",
        "tests",
        "docs",
        "tools",
        "plugins",
        ".github",
        "Makefile",
        "requirements.lock",
    }
    assert not tops & {".venv", ".mypy_cache", "dist", "site"}


def test_the_metadata_says_who_may_use_it_and_where_it_is_from(built):
    with zipfile.ZipFile(built[0]) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        about = email.message_from_bytes(archive.read(name))
    assert about["Version"] == pondero.__version__
    assert about["License-Expression"] == "MIT"
    assert about["Requires-Python"] == ">=3.11"
    kinds = about.get_all("Classifier", [])
    for minor in range(11, 15):
        assert f"Programming Language :: Python :: 3.{minor}" in kinds
    assert "Typing :: Typed" in kinds
    named = {each.partition(",")[0] for each in about.get_all("Project-URL", [])}
    assert named >= {"Homepage", "Documentation", "Changelog", "Issues"}
    assert set(about.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])


# -- a place where only the core is ---------------------------------------------------------------


def needed_by(names: list[str]) -> set[str]:
    """Return these packages and all that they need here, by their own metadata."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name not in found:
            found.add(name)
            stated = [Requirement(line) for line in metadata.requires(name) or ()]
            waiting += [
                each.name
                for each in stated
                if each.marker is None or each.marker.evaluate({"extra": ""})
            ]
    return found


def copied(name: str, into: Path) -> None:
    """Copy an installed package, file by file as its record lists them."""
    home = metadata.distribution(name)
    tops = {Path(str(file)).parts[0] for file in home.files or ()} - {".."}
    for top in tops - {"__pycache__"}:
        source = Path(str(home.locate_file(top)))
        if source.is_dir():
            copytree(source, into / top, dirs_exist_ok=True)
        elif source.exists():
            copy2(source, into / top)


@pytest.fixture(scope="module")
def fresh(built, tmp_path_factory):
    """Return the python of an environment with the wheel and its dependencies, and no more."""
    folder = tmp_path_factory.mktemp("fresh")
    pip_is_here = find_spec("pip") is not None  # uv makes environments without it
    venv.create(folder, with_pip=not pip_is_here)
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / ("python.exe" if os.name == "nt" else "python")
    find = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(find, capture_output=True, text=True, check=True).stdout.strip())
    for name in needed_by([Requirement(each).name for each in PROJECT["dependencies"]]):
        copied(name, packages)
    install = ["install", "--quiet", "--no-index", "--no-deps", "--no-cache-dir"]
    subprocess.run(
        [
            sys.executable if pip_is_here else python,
            "-m",
            "pip",
            "--python",
            python,
            *install,
            built[0],
        ],
        check=True,
        capture_output=True,
    )
    return python


@pytest.fixture
def call(fresh, tmp_path):
    """Run something there, far from the checkout and from anybody's settings."""

    def run(*words, program=fresh):
        kept = ("PATH", "SYSTEMROOT", "HOME", "LANG")
        environment = {name: os.environ[name] for name in kept if name in os.environ}
        environment |= {
            "PONDERO_CONFIG_DIR": str(tmp_path / "config"),
            "PONDERO_DATA_DIR": str(tmp_path / "data"),
            "AWS_REGION": "us-east-1",
            "COLUMNS": "80",
        }
        return subprocess.run(
            [program, *words],
            env=environment,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    return run


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--version"], f"pondero {pondero.__version__}"),
        (["--help"], "ask"),
        (["plan", "claude-opus-5/high"], '"effort": "high"'),
        (["ask", "--offline", "gpt-5.5/low", "What is 17 * 23?"], "391"),
        (["demo"], "One level, seven APIs"),
        (["sweep", "--help"], "Usage: pondero sweep"),
        (["doctor"], f"pondero {pondero.__version__}"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_the_installed_program_does_its_work(call, fresh, words, said):
    ran = call(*words, program=fresh.with_name("pondero" + fresh.suffix))
    assert ran.returncode == 0, ran.stderr
    assert said in ran.stdout


def test_every_verb_has_its_help_without_any_extra(call):
    script = (
        "import sys\n"
        "from pondero.cli.app import run\n"
        "for verb in sys.argv[1:]:\n"
        "    assert run([verb, '--help']) == 0, verb\n"
    )
    ran = call("-c", script, *app.list_commands(None))
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("extra", HINTS)
def test_what_needs_an_extra_says_how_to_install_it(call, extra):
    ran = call(*HINTS[extra])
    assert ran.returncode != 0
    assert f"'pondero[{extra}]" in " ".join(ran.stderr.split()), ran.stderr


def test_every_extra_is_missed_somewhere_or_known_to_be_unmissed():
    assert {*HINTS, *UNMISSED, "all"} == set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize("extra", sorted(set(PROJECT["optional-dependencies"]) - {"all"}))
def test_doctor_says_how_to_install_every_extra(call, extra):
    ran = call("-m", "pondero", "doctor", "--json")
    assert f"'pondero[{extra}]" in ran.stdout


def test_what_is_installed_comes_from_the_wheel_and_nothing_else_is_there(call, fresh):
    ran = call(
        "-c", "import pondero, importlib.util as u; print(pondero.__file__, u.find_spec('textual'))"
    )
    assert ran.stdout.startswith(str(fresh.parents[1]))
    assert ran.stdout.split()[1] == "None"
