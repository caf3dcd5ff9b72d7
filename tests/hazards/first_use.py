"""A process that pondero kills where it is not safe at first use; ``test_first_use`` runs it.

``python -m tests.hazards.first_use JOB MODEL RUNS``: each run is a child whose eight threads begin
the same job at the same moment, with modules loaded and no type decoded yet. Prints the signal or
the errors of every run that failed.
"""

import os
import sys
import threading
from collections.abc import Callable
from importlib import import_module

import msgspec

THREADS = 8
LOADED = ("pondero.client.client", "pondero.exchange.exchange_flow", "pondero.store.credentials")


def plan(model: str) -> None:
    import_module("pondero").plan(model, "high")


def ask(model: str) -> None:
    pondero, emulator = import_module("pondero"), import_module("pondero.emulator")
    with pondero.Client(transport=emulator.Emulator()) as client:
        client.ask(model, "What is 17 * 23?", "low", stream=False)


def decode(_model: str) -> None:
    """Decode into types that nobody has decoded into before."""
    for kind, _ in FRESH:
        import_module("pondero.canon").convert_json({"a": {"b": 1}}, kind)


FRESH = [
    (outer, inner)
    for number in range(100)
    for inner in [msgspec.defstruct(f"Inner{number}", [(c, int, 0) for c in "bcdefghijklm"])]
    for outer in [msgspec.defstruct(f"Outer{number}", [("a", inner), ("z", inner | None, None)])]
]


def race(job: Callable[[str], None], model: str) -> list[str]:
    """Return the errors of as many threads as begin this at once."""
    barrier = threading.Barrier(THREADS)
    failed: list[str] = []

    def begin() -> None:
        barrier.wait()
        try:
            job(model)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
            failed.append(repr(error))

    threads = [threading.Thread(target=begin) for _ in range(THREADS)]
    sys.setswitchinterval(1e-6)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failed


def main(job: Callable[[str], None], model: str, runs: int) -> None:
    for name in ("pondero.emulator", *LOADED):
        import_module(name)
    for _ in range(runs):
        child = os.fork()
        if not child:
            failed = race(job, model)
            if failed:
                sys.stdout.write(f"{failed[0]}\n")
                sys.stdout.flush()
            os._exit(bool(failed))
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            sys.stdout.write(f"killed by signal {os.WTERMSIG(status)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main({"plan": plan, "ask": ask, "decode": decode}[sys.argv[1]], sys.argv[2], int(sys.argv[3]))
