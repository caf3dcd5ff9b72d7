"""Kills a process after each of its effects, and lets another one go on: ``test_kills`` runs this.

An effect is a write to the disk or a request to the service. Between two effects nothing changes
that outlives the process, so a kill after each of them is a kill at any point. A write can also
fail: ``full`` is a disk on which this write and all others fail, ``busy`` a file that another
program holds, so that this write fails and the next does not.

    python -m tests.batch.kills PROVIDER submit|collect|cancel killed|full|busy FOLDER

prints one JSON object for each point.
"""

import json
import os
import signal
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import msgspec
from tests.batch.services import MODELS, SERVICES

from pondero import Client, Retry
from pondero.batch import WIRES, list_batches
from pondero.errors import PonderoError, StoreError
from pondero.store import Database

ASKS = [{"id": f"q{n}", "prompt": f"What is {n} * 23?"} for n in range(5)]
MOST = 60
DONE, FAILED = 0, 3
_ROWS, _TRANSACTION = Database.rows, Database.transaction


class Fault:
    """Counts effects; at its point it kills this process, or lets a write fail."""

    def __init__(self, point, how):
        self.point, self.how, self.seen = point, how, 0

    def before(self):
        if self.how != "killed" and self.seen == self.point:
            self.seen += self.how == "busy"
            raise StoreError(f"the file is {self.how}")

    def after(self):
        self.seen += 1
        if self.how == "killed" and self.seen == self.point:
            os.kill(os.getpid(), signal.SIGKILL)

    def sent(self):
        if self.how == "killed":
            self.after()

    def install(self):
        def rows(database, sql, values=()):
            if sql.startswith(("SELECT", "PRAGMA")):
                return _ROWS(database, sql, values)
            self.before()
            found = _ROWS(database, sql, values)
            self.after()
            return found

        @contextmanager
        def transaction(database):
            self.before()
            with _TRANSACTION(database) as connection:
                yield connection
            self.after()

        Database.rows, Database.transaction = rows, transaction


def open_service(name, folder, fault=None):
    """The service lives on: what it has is in a file that every process shares."""
    service, log = SERVICES[name](after=0), folder / "service.json"
    sending = service.send

    def send(request, timeouts=None):
        service.revive(log)
        try:
            return sending(request, timeouts)
        finally:
            service.keep(log)
            if fault is not None:
                fault.sent()

    service.send = send
    service.revive(log)
    return service


def work(client, name, op):
    """Do what is interrupted; a batch is there already unless it is to be submitted."""
    if op == "submit":
        client.batch(ASKS, MODELS[name], "low")
        return
    batch = client.open_batch(list_batches()[0].id)
    batch.look() if op == "collect" else batch.cancel()


def run(name, op, folder, fault):
    os.environ["PONDERO_DATA_DIR"] = str(folder)
    retry = Retry(attempts=1, waits=False)
    if op != "submit":
        Client(transport=open_service(name, folder), retry=retry).batch(ASKS, MODELS[name], "low")
    fault.install()
    try:
        work(Client(transport=open_service(name, folder, fault), retry=retry), name, op)
    except StoreError:
        return FAILED
    return DONE


def go_on(name, folder):
    """What the next process finds: how all ended, and what the service got before it was asked."""
    os.environ["PONDERO_DATA_DIR"] = str(folder)
    service, unasked = open_service(name, folder), None
    client = Client(transport=service, retry=Retry(attempts=1, waits=False))
    found = list_batches()
    if not found:
        return {"batches": 0, "got": dict(received(service)), "asked": False, "endings": []}
    batch = client.open_batch(found[0].id)
    try:
        batch.wait()
    except PonderoError:
        unasked = received(service)
        batch.send(again=True)
    answers = batch.wait()
    return {
        "batches": len(found),
        "got": dict(received(service) if unasked is None else unasked),
        "asked": unasked is not None,
        "endings": [answer.ending for answer in answers.values()],
    }


def received(service):
    """How often the service has each request."""
    return Counter(id for made in service.made.values() for id, _ in made.asks)


def main(name, op, how, folder):
    WIRES["requests"] = msgspec.structs.replace(WIRES["requests"], adds=2)
    for point in range(MOST):
        home = Path(folder) / str(point)
        home.mkdir(parents=True)
        child = os.fork()
        if not child:
            os._exit(run(name, op, home, Fault(point, how)))
        _, status = os.waitpid(child, 0)
        found = {"point": point, "status": status, **go_on(name, home)}
        sys.stdout.write(f"{json.dumps(found)}\n")
        if status == 0 and point:
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
