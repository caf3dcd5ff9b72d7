"""``contract``: runs the contract kit against services, recordings or the emulator."""

import os
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...errors import (
    BadParameter,
    CassetteError,
    MissingKey,
    TransportError,
    Unreachable,
    Unsupported,
)
from ..command import examples
from ..output.echo import echo, style_text
from .progress import show_progress

if TYPE_CHECKING:
    from ...catalog import ModelEntry
    from ...contract import Backend, Scenario, ScenarioResult

_NO = ("", "0", "false", "no", "off")
_PORT = 9100  # where the emulator is recorded, so that a new recording differs in little


class _WithThrough(click.Command):
    """The command; with ``through`` as its first word, another one. PROVIDERs take no such name."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Return the context of the command that is meant."""
        if args and args[0] == "through":
            from .through import through

            return through.make_context(f"{info_name} through", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(
    cls=_WithThrough,
    epilog=examples(
        "pondero contract                            every provider, on the emulator",
        "pondero contract google --scenario 'thinking_*'",
        "pondero contract llamacpp --model qwen3 --base-url http://localhost:8080",
        "pondero contract compatible --model M --base-url http://localhost:9000",
        "pondero contract anthropic --live           the service itself; needs a key",
        "pondero contract --cassettes tests/cassettes --junit report.xml",
        "pondero contract through http://localhost:4000   any gateway; see its --help",
    ),
)
@click.argument("providers", nargs=-1, metavar="[PROVIDER]...")
@click.option(
    "--scenario",
    "patterns",
    multiple=True,
    metavar="NAME",
    help="Run this scenario, or those that match 'thinking_*'; may be repeated.",
)
@click.option("--model", metavar="M", help="Test this model instead of the provider's usual ones.")
@click.option(
    "--cassettes",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Play DIR/PROVIDER/*.jsonl; with VCR_RECORD=1 record them.",
)
@click.option(
    "--base-url", metavar="URL", help="The URL of a proxy, gateway or engine with PROVIDER's API."
)
@click.option(
    "--live", is_flag=True, help="Test the provider's own service; needs a key, and costs."
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.option(
    "--junit",
    "junit_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a JUnit report too.",
)
def contract(
    providers: tuple[str, ...],
    *,
    patterns: tuple[str, ...],
    model: str | None,
    cassettes: Path | None,
    base_url: str | None,
    live: bool,
    as_json: bool,
    junit_file: Path | None,
) -> int:
    """Run the contract tests against a service or the emulator.

    The tests check what pondero sends, what comes back, and how it is read. The target is a
    service (--live or --base-url), recordings (--cassettes) or, by default, the emulator. Without
    PROVIDER, they run for every provider, or for every recorded one. If a target rejects the
    request for a feature, the feature counts as unsupported. PONDERO_SKIP_CONTRACT=1 skips all
    tests.
    """
    from ...contract import as_junit, check_writable, run_scenarios, write
    from ..output.scoreboard import print_results

    if junit_file is not None:
        check_writable(junit_file)
    scenarios = _scenarios(patterns)
    backend = _backend(cassettes, base_url, live=live)
    entries = _entries(providers, model, cassettes, base_url, live=live)
    skip = _is_set("PONDERO_SKIP_CONTRACT")
    if not skip:
        entries = _drop_unreachable(entries, backend, base_url, named=bool(providers))
    with show_progress(len(entries) * len(scenarios), _name, shown=not as_json) as done:
        results = run_scenarios(entries, scenarios, backend, skip=skip, done=done)
    if junit_file is not None:
        write(junit_file, as_junit(results))
    print_results(results, scenarios, as_json=as_json)
    if skip:
        _warn_skipped()
    return 1 if any(result.status == "failed" for result in results) else 0


# -- what is run --------------------------------------------------------------------------------


def _scenarios(patterns: tuple[str, ...]) -> "list[Scenario]":
    from ...contract import SCENARIOS

    found = [s for s in SCENARIOS if not patterns or any(fnmatchcase(s.name, p) for p in patterns)]
    for pattern in patterns:
        if not any(fnmatchcase(scenario.name, pattern) for scenario in SCENARIOS):
            names = [scenario.name for scenario in SCENARIOS]
            message = f"unknown scenario {pattern!r}; {_guess(pattern, names)}use {' '.join(names)}"
            raise BadParameter(message)
    return found


def _guess(word: str, names: list[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word, names, n=1)
    return f"did you mean {close[0]!r}? " if close else ""


def _entries(
    providers: tuple[str, ...],
    model: str | None,
    cassettes: Path | None,
    base_url: str | None,
    *,
    live: bool,
) -> "list[ModelEntry]":
    from ...contract import find_model, representative_models

    if (base_url or model) and len(providers) != 1:
        what = "--base-url" if base_url else "--model"
        message = (
            f"{what} is for one provider: say which, as in 'pondero contract llamacpp {what} ...'"
        )
        raise click.UsageError(message)
    names = [_check_provider(name) for name in dict.fromkeys(providers)] or _list_providers(
        cassettes
    )
    if model is not None:
        return [find_model(names[0], model)]
    if cassettes is not None:
        return [_find_recorded(cassettes, name) for name in names]
    one = live or base_url is not None  # exchanges are real, and may cost
    return [entry for name in names for entry in representative_models(name)[: 1 if one else None]]


def _list_providers(cassettes: Path | None) -> list[str]:
    from ...client import load_catalog
    from ...dialects import NAMES

    spoken = [p.name for p in load_catalog().catalog.providers.values() if p.dialect in NAMES]
    if cassettes is None:
        return spoken
    found = [name for name in spoken if (cassettes / name).is_dir()]
    if not found:
        raise CassetteError(f"{cassettes} holds no folder named like a provider; {_HOW}")
    return found


_HOW = "VCR_RECORD=1 pondero contract PROVIDER --cassettes DIR records there"


def _check_provider(name: str) -> str:
    from ...client import load_catalog
    from ...dialects import NAMES

    load_catalog().entries(name)  # raises UnknownProvider
    dialect = load_catalog().catalog.providers[name].dialect
    if dialect not in NAMES:
        message = f"{name} speaks {dialect!r}, which pondero can plan for but not call yet"
        raise Unsupported(message)
    return name


def _find_recorded(folder: Path, name: str) -> "ModelEntry":
    from ...contract import find_model, most_recorded_model, representative_models

    if not (folder / name).is_dir() and not _records():
        raise CassetteError(f"there are no cassettes of {name} in {folder}; {_HOW}")
    first = representative_models(name)[0]
    model = most_recorded_model(folder, first)
    return first if model is None else find_model(name, model)


# -- what answers --------------------------------------------------------------------------------


def _backend(cassettes: Path | None, base_url: str | None, *, live: bool) -> "Backend":
    from ...contract import CassetteBackend, EmulatorBackend, HttpBackend, ServedEmulatorBackend

    if base_url == "":  # a shell variable that is not set
        raise click.UsageError("--base-url is empty; use an address such as http://localhost:8080")
    if live and base_url:
        raise click.UsageError("give --live or --base-url, not both")
    reached = HttpBackend(base_url) if live or base_url else None
    if cassettes is None:
        return reached or EmulatorBackend()
    if _records():
        return CassetteBackend(cassettes, reached or ServedEmulatorBackend(port=_PORT))
    if reached is not None:
        raise click.UsageError("cassettes are played; VCR_RECORD=1 records them from there")
    if not cassettes.is_dir():
        raise BadParameter(f"there is no folder {cassettes}; {_HOW}")
    return CassetteBackend(cassettes)


def _drop_unreachable(
    entries: "list[ModelEntry]", backend: "Backend", base_url: str | None, *, named: bool
) -> "list[ModelEntry]":
    from ...contract import CassetteBackend, HttpBackend

    reached = backend.source if isinstance(backend, CassetteBackend) else backend
    if not isinstance(reached, HttpBackend):
        return entries
    there = []
    for entry in entries:
        try:
            reached.check_reachable(entry)
        except (MissingKey, TransportError) as error:
            if isinstance(error, Unreachable) and base_url is not None:
                message = f"{entry.provider.label} does not answer at {base_url}: start it, or "
                message += f"correct --base-url ({error.__cause__ or error})"
                raise Unreachable(message, connected=error.connected) from error
            if named:
                raise
            continue
        there.append(entry)
    if not there:
        raise MissingKey("no provider has a key here; set one, such as ANTHROPIC_API_KEY")
    return there


def _records() -> bool:
    return _is_set("VCR_RECORD")


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "").strip().lower() not in _NO


# -- while it runs ------------------------------------------------------------------------------


def _name(result: "ScenarioResult") -> str:
    return f"{result.provider} {result.scenario}"


def _warn_skipped() -> None:
    lines = (
        "WARNING: PONDERO_SKIP_CONTRACT is set.",
        "No contract was checked: nothing here says that any provider works.",
    )
    rule = "!" * max(map(len, lines))
    for line in (rule, *lines, rule):
        echo(style_text(line, fg="yellow", bold=True), err=True)
