"""Run the engine on a model file until standard input ends; says its address first.

A process of its own: where llama.cpp does not know how to go on it aborts, and takes its host along.
"""

import sys

import xllamacpp
from tests.engine.scripted import CONTEXT


def main(model: str) -> None:
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # any that is free
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.verbosity = 0
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)  # noqa: T201 - read by who started this
    sys.stdin.read()
    del server


if __name__ == "__main__":
    main(sys.argv[1])
