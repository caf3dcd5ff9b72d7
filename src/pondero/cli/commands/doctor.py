"""``doctor``: checks this machine, or what a handoff of a thread would lose."""

import click
import msgspec

from ...client import HealthCheck, load_catalog, resolve_policy, run_checks
from ..command import examples, json_option, parse_policy, policy_option, print_json
from ..output.echo import echo, style_text
from ..output.thread_tables import open_threads
from .completion import model as models
from .completion import thread as threads

_MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("·", "bright_black")}


@click.command(
    epilog=examples(
        "pondero doctor",
        "pondero doctor --json",
        "pondero doctor last --for gemini-3-flash-preview    what a handoff would do",
    )
)
@click.argument("thread", required=False, shell_complete=threads)
@click.option(
    "--for",
    "target",
    metavar="MODEL",
    help="The model that would continue the thread.",
    shell_complete=models,
)
@policy_option
@json_option
def doctor(
    thread: str | None, *, target: str | None, policies: tuple[str, ...], as_json: bool
) -> int:
    """Check this installation, or preview a THREAD's handoff.

    With THREAD, it shows what another model would not see of the conversation.
    """
    if thread is not None or target is not None:
        _handoff(thread or "last", target, policies, as_json=as_json)
        return 0
    found = run_checks()
    if as_json:
        print_json({"findings": [msgspec.to_builtins(finding) for finding in found]})
    else:
        _print(found)
    return 1 if any(finding.ok is False for finding in found) else 0


def _print(found: tuple[HealthCheck, ...]) -> None:
    column = max(len(finding.check) for finding in found) + 2
    for finding in found:
        mark, colour = _MARKS[finding.ok]
        name = style_text(f"{finding.check:<{column}}", bold=True)
        echo(style_text(mark, fg=colour), " ", name, finding.value)
        if finding.fix:
            echo(f"  {'':<{column}}", style_text(f"→ {finding.fix}", fg="yellow"))


def _handoff(thread: str, target: str | None, policies: tuple[str, ...], *, as_json: bool) -> None:
    from ...exchange import make_destination
    from ...handoff import handoff

    with open_threads() as shelf:
        found = shelf.get(thread)
        messages = shelf.messages(found.id)
    entry = load_catalog().entry(target or found.model)
    policy = resolve_policy(parse_policy(policies))
    manifest = handoff(messages, make_destination(entry, policy)).manifest
    if as_json:
        print_json({"thread": found.id, "for": entry.id, "manifest": manifest.to_json()})
        return
    echo(style_text(f"{found.id} ({found.title}) for {entry.id}", bold=True))
    echo(str(manifest))
