"""``doctor``: checks this machine, or what a handoff of a thread would lose."""

import os
from collections.abc import Iterator, Sequence

import click
import msgspec

from ...canon import Json
from ...client import HealthCheck, load_catalog, run_checks
from ...store import StoredMessage, load_settings
from ...thinking import Policy
from ..command import examples, json_option, parse_policy, policy_option, print_json
from ..output.echo import echo, fit_text, narrow, style_text
from ..output.thread_tables import open_threads
from .completion import model as models
from .completion import thread as threads
from .config import theme_names

_MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("·", "bright_black")}


@click.command(
    epilog=examples(
        "pondero doctor",
        "pondero doctor --json",
        "pondero doctor last --for gemini-3-flash-preview    what a handoff would do",
        "pondero doctor last --for claude-opus-5/low         what a level would cost",
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

    With THREAD, it shows what another model would not see of the conversation, and what another
    level would cost: whether the prompt cache is kept, or how many tokens are billed again.
    """
    if thread is not None or target is not None:
        _handoff(thread or "last", target, policies, as_json=as_json)
        return 0
    found = run_checks()
    if not any(each.check == "config" and each.ok is False for each in found):
        found = (*found, *_check_theme())
    if as_json:
        print_json({"findings": [msgspec.to_builtins(finding) for finding in found]})
    else:
        _print(found)
    return 1 if any(finding.ok is False for finding in found) else 0


def _check_theme() -> Iterator[HealthCheck]:
    names = theme_names()
    chosen = os.environ.get("PONDERO_THEME", "").lower() or load_settings().theme
    if chosen and names:
        ok = chosen in names
        fix = None if ok else f"pondero config set theme {names[0]}"
        value = chosen if ok else f"there is no theme {chosen!r}"
        yield HealthCheck("theme", ok=ok, value=value, fix=fix)


def _print(found: tuple[HealthCheck, ...]) -> None:
    if narrow() is not None:
        _print_narrow(found)
        return
    column = max(len(finding.check) for finding in found) + 2
    for finding in found:
        mark, colour = _MARKS[finding.ok]
        name = style_text(f"{finding.check:<{column}}", bold=True)
        echo(style_text(mark, fg=colour), " ", name, finding.value)
        if finding.fix:
            echo(f"  {'':<{column}}", style_text(f"→ {finding.fix}", fg="yellow"))


def _print_narrow(found: tuple[HealthCheck, ...]) -> None:
    """Print each check with its value below it, wrapped by words."""
    for finding in found:
        mark, colour = _MARKS[finding.ok]
        echo(style_text(mark, fg=colour), " ", style_text(finding.check, bold=True))
        echo(fit_text(finding.value, indent=4))
        if finding.fix:
            echo(style_text(fit_text(f"→ {finding.fix}", indent=4), fg="yellow"))


def _handoff(thread: str, target: str | None, policies: tuple[str, ...], *, as_json: bool) -> None:
    from ...exchange import find_stated_window, make_destination
    from ...handoff import handoff

    with open_threads() as shelf:
        found = shelf.get(thread)
        kept = shelf.load_messages(found.id)
    messages = tuple(each.message for each in kept)
    entry, policy = load_catalog().entry(target or found.model), parse_policy(policies)
    window = find_stated_window(entry, messages, policy)
    start = window.start if window is not None else None
    manifest = handoff(messages, make_destination(entry, policy, updates_from=start)).manifest
    cache = _preview_cache(target or found.model, found.thinking, kept, policy)
    if as_json:
        told = {"thread": found.id, "for": entry.id, "manifest": manifest.to_json()}
        print_json({**told, "cache": cache})
        return
    echo(style_text(f"{found.id} ({found.title}) for {entry.id}", bold=True))
    echo(str(manifest))
    if cache is not None:
        echo(f"cache: {cache.removeprefix('cache ')}")


def _preview_cache(
    model: str, thinking: Json, kept: Sequence[StoredMessage], policy: Policy
) -> str | None:
    """Return what the next request does to the prompt cache; None if the level stays."""
    from ...client import count_prompt_tokens, plan, preview_change

    name, level = load_catalog().apart(model)
    made = plan(name, thinking if level is None else level, policy=policy.but(unsupported="adjust"))
    usages = [each.usage for each in kept if each.usage is not None]
    return preview_change(
        load_catalog().entry(name),
        made,
        [each.message for each in kept],
        policy=policy,
        last_prompt=count_prompt_tokens(usages[-1]) if usages else None,
    )
