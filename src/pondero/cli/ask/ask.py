"""``ask``: one question; the answer goes to stdout, everything else to stderr."""

from contextlib import nullcontext
from time import monotonic
from typing import Any

import click
from msgspec.structs import replace

from ...client import Client, TurnRecorder, load_catalog
from ...errors import PonderoError, ServiceError
from ...store import Template, load_template
from ..command import Sections, examples, parse_policy
from ..commands.completion import first_model
from ..output.echo import say
from ..signals import exit_on_signals
from ..start import Start, say_chosen
from .options import SECTIONS, AskOptions, ask_options, parse_levels
from .prompt import AskPrompt, add_tools, question_of, transport_of
from .result import AskResult, add_typed_value, make_result
from .thread import AskStart, continue_thread, save_turn, start_thread
from .tools import Approval, ToolResults, keep_stdout
from .writers import AnswerWriter, exit_code_for, make_writer, print_early_error


@click.command(
    cls=Sections,
    sections=SECTIONS,
    epilog=examples(
        'pondero ask opus/high "Is 3,599 prime?"',
        'git diff | pondero ask gemini-3-flash-preview "Review this."',
        'pondero ask -m claude-opus-5 -a chart.png "What does it show?"',
        'pondero ask "Why is the sky blue?"            with your default model',
        'pondero ask -c "And at dusk?"                 continues the last thread',
        'pondero ask -c k3f9zq gpt-5.1/low "And you?"  that thread, another model',
        "pondero ask gpt-5.1 --schema 'name, age int' \"Invent a dog\"",
        'pondero ask gpt-5.1 --tool weather.py:forecast "What about Bern?"',
        'pondero ask -m gpt-5.1 -m claude-opus-5 "Is 3,599 prime?"    side by side',
        'pondero ask --offline claude-opus-5 --levels low,max "What is 17 * 23?"',
    ),
)
@click.argument(
    "words", nargs=-1, metavar="[MODEL[/LEVEL]] [PROMPT]...", shell_complete=first_model
)
@ask_options
def ask(words: tuple[str, ...], **options: Any) -> int:
    """Ask MODEL one question. Piped input is added to PROMPT, or is the prompt if you give none.

    MODEL is a full or short name: opus is the newest Claude Opus ('pondero models' lists them). It
    is taken from -m, then the first argument if it is a known model, then PONDERO_MODEL, then the
    setting of 'pondero config set model MODEL', then the key that is present. If a model is set, an
    unquoted short name is part of the question.

    Question and answer are saved as a thread; see 'pondero threads'.
    """
    given = AskOptions(**options)
    if given.as_json and given.as_lines:
        raise click.UsageError("use --json or --json-lines, not both")
    try:
        starts, question, approval = _prepare(words, given)
    except (PonderoError, click.ClickException) as error:
        print_early_error(error, given)
        raise
    try:
        with exit_on_signals(), keep_stdout() if given.tools else nullcontext():
            if len(starts) == 1:
                return _ask_one(starts[0], question, given, approval)
            from .many import ask_many

            return ask_many(starts, question, given)
    finally:
        if words_for_user := approval.words():
            say(words_for_user)


def _prepare(
    words: tuple[str, ...], given: AskOptions
) -> tuple[list[AskStart], AskPrompt, Approval]:
    """Return everything that is known before a question is asked; raise if an option is wrong."""
    if given.variables and given.template is None:
        raise click.UsageError("-p fills in a template; name one with --template")
    kept = None if given.template is None else load_template(given.template)
    # Without words and a model, a missing question is reported before a missing model.
    piped = None if words or given.models else question_of((), given, kept)
    starts, prompt = _starts(words, given, kept)
    question = piped or question_of(prompt, given, kept)
    if (chosen := starts[0].chosen) is not None:
        say_chosen(chosen, Start(chosen.model, None if given.levels else starts[0].thinking))
    if question.system is not None:
        starts = [replace(start, system=question.system) for start in starts]
    approval = Approval(given.approved, asks=len(starts) == 1)
    return starts, add_tools(question, given, approval), approval


def _starts(
    words: tuple[str, ...], given: AskOptions, kept: Template | None
) -> tuple[list[AskStart], tuple[str, ...]]:
    starts, prompt = [], words
    levels = parse_levels(given.levels)
    for named in given.models or (None,):
        if given.go_on:
            start, prompt = continue_thread(words, named)
            start = start.without_media() if given.no_media else start
        else:
            start, prompt = start_thread(words, named, template=kept, offline=not given.paid)
        if levels and named is not None and (wish := load_catalog().split(named).level) is not None:
            raise click.UsageError(f"{named!r} names the level {wish!r}, and --levels names others")
        starts += [replace(start, thinking=level) for level in levels] or [start]
    return starts, prompt


def _ask_one(start: AskStart, question: AskPrompt, given: AskOptions, approval: Approval) -> int:
    """Ask, print what comes, and return the exit code; raises the error of an answer."""
    sheet = make_writer(start, given, shaped=question.schema is not None)
    approval.pause = sheet.pause
    try:
        answer = _turn(start, question, given, sheet, approval)
    except PonderoError as problem:  # of the policy, a server or a cassette: nothing was asked
        answer = AskResult(start=start, paid=given.paid, error=problem)
    finally:
        sheet.pause()
    sheet.end(answer)
    if answer.error is not None:
        if start.has_media and isinstance(answer.error, ServiceError):
            answer.error.add_note(
                "if it cannot read the thread's pictures or files: add --no-media"
            )
        raise answer.error
    return 0 if answer.reply is None else exit_code_for(answer.reply)


def _turn(
    start: AskStart,
    question: AskPrompt,
    given: AskOptions,
    sheet: AnswerWriter,
    approval: Approval,
) -> AskResult:
    began, error = monotonic(), None
    with Client(transport=transport_of(given), policy=parse_policy(given.policies)) as client:
        chat = start.chat(client, **question.settings)
        recorder, results = TurnRecorder(monotonic, paid=given.paid), ToolResults()
        approval.wait = recorder.approval
        turn = chat.stream(question.prompt, keep=True, attachments=question.attachments)
        turn.shows = given.as_lines or sheet.shows
        with chat, save_turn(start, chat, turn, recorder, save=not given.no_save) as place:
            try:
                with turn:
                    for event in turn:
                        for call, result in results.new(turn):
                            sheet.result(call, result)
                        recorder.feed(event)
                        place.note(turn, recorder)
                        sheet.write(event)
            except PonderoError as problem:
                error = problem
            finally:
                sheet.end_line()  # saving may have something to say
    answer = make_result(
        start,
        turn.replies,
        recorder,
        paid=given.paid,
        seconds=monotonic() - began - recorder.waited,
        thread=place.id,
        error=error,
    )
    return answer if question.schema is None else add_typed_value(answer, question.schema)
