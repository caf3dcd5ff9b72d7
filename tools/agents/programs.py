"""The agents of agents.toml: which are installed, and how a program of one is started."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from string import Template

import msgspec
from msgspec import Struct
from services import Services

from pondero.gateway import load_clients, prepare_launch
from pondero.gateway.launch.clients import ChosenModel, LaunchCommand

HERE = Path(__file__).parent
WORDS = "The grey owl sleeps at noon."
SUM, RESULT = "What is 17 * 23?", "391"
KEY = "a-key-of-nobody"
LIMIT = 180  # seconds of a turn
# Nothing but this machine is reached: a proxy that is not there answers for all other addresses.
OUTSIDE = dict.fromkeys(
    ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9"
)
DIRECT = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
KEPT = ("PATH", "LANG", "TERM", "SYSTEMROOT")


class Turn(Struct, frozen=True, forbid_unknown_fields=True):
    """One start of a program."""

    arguments: tuple[str, ...]
    env: Mapping[str, str] = {}


class Agent(Struct, frozen=True, forbid_unknown_fields=True):
    """One row of agents.toml, which explains each field."""

    label: str
    program: str
    install: str
    client: str | None = None
    call: str = 'read_note {"name": "owl"}'
    env: Mapping[str, str] = {}
    turns: tuple[Turn, ...] = ()
    loop: str = ""
    needs: tuple[str, ...] = ()
    fronts: tuple[str, ...] = ()


class Conversation(Struct, frozen=True, forbid_unknown_fields=True):
    """One row of a program whose level changes between turns."""

    label: str
    agent: str
    first: tuple[str, ...]
    later: tuple[str, ...]
    models: tuple[str, ...]
    env: Mapping[str, str] = {}


class Session(Struct, frozen=True, forbid_unknown_fields=True):
    """One row of a program that sends requests for several purposes."""

    label: str
    agent: str
    model: str
    turns: tuple[Turn, ...]
    purposes: tuple[str, ...]
    without: Mapping[str, str] = {}
    env: Mapping[str, str] = {}
    files: Mapping[str, str] = {}


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of agents.toml."""

    agent: tuple[Agent, ...]
    conversation: tuple[Conversation, ...]
    session: tuple[Session, ...]

    def find_agent(self, label: str) -> Agent:
        """Return the first agent whose label begins so."""
        return next(each for each in self.agent if each.label.startswith(label))


class Command(Struct, frozen=True):
    """A program with its arguments and its whole environment."""

    arguments: tuple[str, ...]
    env: Mapping[str, str]
    folder: Path


class Places(Struct, frozen=True):
    """The folders of one run: the user's home, where the program works, and that of the launch."""

    home: Path
    work: Path
    private: Path

    @property
    def note(self) -> Path:
        """Return the file that the program is to read."""
        return self.work / "owl.txt"


def load_table() -> Table:
    """Return the rows of agents.toml."""
    return msgspec.toml.decode((HERE / "agents.toml").read_bytes(), type=Table)


# -- what is installed -----------------------------------------------------------------------------


def find_program(agent: Agent, agents: Path) -> str | None:
    """Return the path of an agent's program; None if it is missing."""
    folders = (agents / "bin", agents / "node_modules" / ".bin")
    if agent.program == "python":
        return shutil.which("python", path=str(folders[0]))
    path = os.pathsep.join((*map(str, folders), os.environ["PATH"]))
    return shutil.which(agent.program, path=path)


def find_version(agent: Agent, program: str, agents: Path) -> str | None:
    """Return the versions of an agent or of its packages; None if it is missing."""
    if not agent.loop:
        with tempfile.TemporaryDirectory() as home:
            done = run_command(Command((program, "--version"), base_env(Path(home)), Path(home)))
        found = re.search(r"\d+\.\d+[\w.-]*", done.stdout or done.stderr)
        return found[0] if found else None
    versions = [_find_package(name, agent.program, program, agents) for name in agent.needs]
    if not versions[0]:
        return None
    return ", ".join(f"{n} {v}" for n, v in zip(agent.needs, versions, strict=True) if v)


def _find_package(name: str, kind: str, program: str, agents: Path) -> str | None:
    if kind == "node":
        file = agents / "node_modules" / name / "package.json"
        return msgspec.json.decode(file.read_bytes())["version"] if file.exists() else None
    code = f"from importlib.metadata import version; print(version({name!r}))"
    done = subprocess.run([program, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


# -- one run ---------------------------------------------------------------------------------------


@contextmanager
def make_places(note: str) -> Iterator[Places]:
    """Make empty folders for one run, with a note to read."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        places = Places(folder / "home", folder / "work", folder / "private")
        for each in (places.home, places.work, places.private):
            each.mkdir()
        places.note.write_text(note, encoding="utf-8")
        yield places


def fill_call(agent: Agent, places: Places) -> str:
    """Return the question that makes the emulator read the note."""
    call = Template(agent.call).substitute(note=str(places.note))
    return f"What does the note say? [emulator: call {call}]"


def launch_program(agent: Agent, model: str, services: Services, places: Places) -> LaunchCommand:
    """Return how a program is started on the gateway."""
    entry = services.routing.resolve(model).entries[0]
    os.environ["HOME"] = str(places.home)  # settings of the user are not for these runs
    return prepare_launch(
        load_clients()[agent.client or ""],
        ChosenModel(model, entry),
        routing=services.routing,
        url=services.url,
        key=KEY,
        folder=places.private,
        environment=base_env(places.home),
    )


def base_env(home: Path) -> dict[str, str]:
    """Return the variables of every program."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**kept, "HOME": str(home), **OUTSIDE, **DIRECT}


def run_command(command: Command) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; raises TimeoutExpired."""
    return subprocess.run(
        command.arguments,
        env=command.env,
        cwd=command.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def judge_command(command: Command, *, answers: tuple[str, ...]) -> Iterator[str]:
    """Yield what is missing in the output of one start."""
    try:
        done = run_command(command)
    except subprocess.TimeoutExpired:
        yield f"no end after {LIMIT} s"
        return
    said = (done.stderr or done.stdout).strip()[-600:]
    for answer in answers:
        if answer not in done.stdout:
            yield f"exit {done.returncode}, no {answer!r} in the answer: {said}"
    if done.returncode:
        yield f"exit {done.returncode}: {said}"
