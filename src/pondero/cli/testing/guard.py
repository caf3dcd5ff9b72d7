"""``guard``: finds what a service would reject on the second turn of a recording."""

import shutil
import sys
import textwrap
from pathlib import Path

import click

from ...contract import GuardFinding, GuardReport, check_file
from ...errors import BadParameter, CassetteError, UsageError
from ...store import redact_secrets
from ..command import examples, json_option, print_json
from ..output.echo import echo, style_text

_WIDTH = 80


@click.command(
    epilog=examples(
        "pondero guard tests/cassettes/*/*.jsonl       cassettes",
        "pondero guard --strict vcr/*.yaml             vcrpy's; lost thinking counts",
        "pondero guard --json saved-chat.json | jq .   a saved chat, for a program",
        "cat exchanges.jsonl | pondero guard -",
    )
)
@click.argument("files", nargs=-1, required=True, metavar="FILE|-...")
@click.option(
    "--strict", is_flag=True, help="Exit with 1 also if thinking would be dropped silently."
)
@json_option
def guard(files: tuple[str, ...], *, strict: bool, as_json: bool) -> int:
    """Find what a service would reject or drop on the next turn.

    It shows where each problem is, what it causes, and the fix. It reads cassettes, vcrpy's
    YAML, saved chats, exported threads, and JSON Lines of exchanges. The exit code is 1 if a
    request would be rejected, and 2 if a file cannot be read.
    """
    reports: list[GuardReport] = []
    errors: dict[str, str] = {}
    for name in files:
        try:
            reports.append(check_file(_read(name), _display_name(name)))
        except (CassetteError, UsageError) as error:
            message = _prefix_name(str(error), _display_name(name))
            errors[redact_secrets(name)] = redact_secrets(message)
    if as_json:
        print_json(_json(reports, errors))
    else:
        _print(reports, errors)
    if errors:
        return 2
    return int(any(report.findings if strict else report.problems for report in reports))


def _read(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except FileNotFoundError:
        message = f"there is no file {name}"
    except IsADirectoryError:
        message = f"{name} is a folder; name the files in it"
    except (OSError, ValueError) as error:
        message = f"{name} cannot be read: {getattr(error, 'strerror', None) or error}"
    raise BadParameter(message)


def _display_name(name: str) -> str:
    return "stdin" if name == "-" else redact_secrets(name)


def _prefix_name(error: str, name: str) -> str:
    return error if name in redact_secrets(error) else f"{name}: {error}"


def _json(reports: list[GuardReport], errors: dict[str, str]) -> dict[str, object]:
    return {
        "files": [report.to_json() for report in reports],
        "errors": [{"name": name, "error": error} for name, error in errors.items()],
        "problems": sum(len(report.problems) for report in reports),
        "losses": sum(len(report.losses) for report in reports),
    }


def _print(reports: list[GuardReport], errors: dict[str, str]) -> None:
    for number, report in enumerate(reports):
        if number:
            echo()
        _print_report(report)
    for error in errors.values():
        echo(f"pondero: {error}", err=True)


def _print_report(report: GuardReport) -> None:
    echo(style_text(report.name, bold=True))
    echo(_wrap(_contents(report), "  "))
    for finding in (*report.problems, *report.losses):
        echo()
        _print_finding(finding)
    echo()
    echo(_wrap(_verdict(report), "  "))


def _contents(report: GuardReport) -> str:
    past = f"{report.with_past:,} with a past"
    seals = f"{_count(report.seals, 'signature')} sent back unchanged"
    if report.kind in ("chat", "thread"):
        saved = "a saved chat" if report.kind == "chat" else "a thread"
        what = f"{saved} of {_count(report.lines, 'message')}, its next request judged"
        return f"{what}: {' '.join(report.dialects)}, {seals}"
    kind = {"cassette": "a cassette", "vcrpy": "a cassette of vcrpy's"}.get(report.kind, "lines")
    wires = f" ({' '.join(report.dialects)})" if report.dialects else ""
    exchanges = f"{_count(report.exchanges, 'exchange')}{wires}"
    others = report.lines - report.exchanges
    beside = f", {others:,} passed over: with no model, or on no wire we know" if others else ""
    return f"{kind}: {exchanges}, {past}, {seals}{beside}"


def _print_finding(finding: GuardFinding) -> None:
    mark = style_text("✗", fg="red") if finding.refused else style_text("!", fg="yellow")
    where = "next request" if finding.exchange is None else f"exchange {finding.exchange}"
    line = f", line {finding.line}" if finding.line else ""
    head = f"{where}{line}" + (f" · {finding.model}" if finding.model else "")
    echo("  ", mark, " ", style_text(finding.code, bold=True), f"  {head}")
    echo(style_text(f"    {finding.path}", fg="cyan"))
    rows = (
        ("what", finding.what, None),
        ("then", finding.then, "red"),
        ("cure", finding.cure, "green"),
    )
    for label, words, colour in rows:
        text = _wrap(words, " " * 10)[10:]
        echo(f"    {label}  ", style_text(text, fg=colour))
    if finding.status is not None and finding.refused:
        said = "refused it" if finding.status >= 400 else "took it all the same"
        echo(style_text(f"    the service {said}: {finding.status}", dim=True))


def _verdict(report: GuardReport) -> str:
    if report.findings:
        problems = _count(len(report.problems), "problem")
        told = f"{problems}, {_count(len(report.losses), 'loss', 'es')}"
    elif report.exchanges:
        told = "no problem, nothing lost"
    else:
        told = "nothing to judge: no exchange with a model on a wire we know"
    if not report.errors:
        return told
    refused = f"{_count(report.errors, 'request')} refused by the service"
    return f"{told}; {refused}, {report.explained:,} of them for a problem"


def _count(number: int, word: str, plural: str = "s") -> str:
    return f"{number or 'no'} {word}{'' if number == 1 else plural}"


def _wrap(text: str, indent: str) -> str:
    width = min(_WIDTH, max(40, shutil.get_terminal_size().columns))
    return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent)
