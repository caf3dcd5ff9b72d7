"""``ask`` of several models or levels at the same time; one that fails leaves the others."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from time import monotonic

from ...canon import Event
from ...client import AsyncClient, AsyncTurn, TurnRecorder
from ...errors import PonderoError
from ..command import code_of, parse_policy, print_json
from ..output.columns import ColumnProgress, print_answers
from ..output.echo import say
from .options import AskOptions
from .prompt import AskPrompt, async_transport_of
from .result import AskResult, add_typed_value, make_result
from .thread import AskStart, save_turn
from .tools import ToolResults
from .writers import exit_code_for, make_lines_writer, print_early_error, remarks


def ask_many(starts: Sequence[AskStart], question: AskPrompt, given: AskOptions) -> int:
    """Ask all of them, print their answers together, and return the worst of their exit codes."""
    answers: dict[int, AskResult] = {}
    try:
        with ColumnProgress(starts, shown=not (given.as_json or given.as_lines)) as progress:
            asyncio.run(_ask_all(starts, question, given, answers, progress))
    except KeyboardInterrupt:
        _print(answers, given)
        raise
    except PonderoError as error:  # of the policy or a cassette: nothing was asked
        if given.as_lines:
            print_early_error(error, given)
            raise
        answers = dict(enumerate(_make_failures(starts, error, given)))
    return _print(answers, given)


def _make_failures(
    starts: Sequence[AskStart], error: PonderoError, given: AskOptions
) -> Iterator[AskResult]:
    return (AskResult(start=start, paid=given.paid, error=error) for start in starts)


async def _ask_all(
    starts: Sequence[AskStart],
    question: AskPrompt,
    given: AskOptions,
    answers: dict[int, AskResult],
    progress: ColumnProgress,
) -> None:
    client = AsyncClient(transport=async_transport_of(given), policy=parse_policy(given.policies))

    async def ask(number: int, start: AskStart) -> None:
        lines = (
            make_lines_writer(start, paid=given.paid, label=start.name) if given.as_lines else None
        )

        def hear(event: Event, turn: AsyncTurn) -> None:
            progress.feed(number, event)
            if lines is not None:
                for call, result in results.new(turn):
                    lines.result(call, result)
                lines.write(event)

        results = ToolResults()
        answer = answers[number] = await _ask(client, start, question, given, hear)
        progress.end(number)
        if lines is not None:
            lines.end(answer)

    try:
        await asyncio.gather(*(ask(number, start) for number, start in enumerate(starts)))
    finally:
        await client.aclose()


async def _ask(
    client: AsyncClient,
    start: AskStart,
    question: AskPrompt,
    given: AskOptions,
    hear: Callable[[Event, AsyncTurn], None],
) -> AskResult:
    began, error = monotonic(), None
    recorder = TurnRecorder(monotonic, paid=given.paid)
    try:
        chat = start.async_chat(client, **question.settings)
        turn = chat.stream(question.prompt, keep=True, attachments=question.attachments)
        turn.shows = given.as_lines or _shows_nothing
    except PonderoError as problem:  # a model that is not there, or cannot read what is attached
        return AskResult(start=start, paid=given.paid, error=problem)
    with save_turn(start, chat, turn, recorder, save=not given.no_save, fork=True) as place:
        try:
            async with chat, turn:
                async for event in turn:
                    recorder.feed(event)
                    place.note(turn, recorder)
                    hear(event, turn)
        except PonderoError as problem:
            error = problem
    answer = make_result(
        start,
        turn.replies,
        recorder,
        paid=given.paid,
        seconds=monotonic() - began,
        thread=place.id,
        error=error,
    )
    return answer if question.schema is None else add_typed_value(answer, question.schema)


def _shows_nothing(_: Event) -> bool:
    """Return that no event is shown: the columns are printed at the end."""
    return False


def _print(answers: dict[int, AskResult], given: AskOptions) -> int:
    whole = [answers[number] for number in sorted(answers)]
    if given.as_json:
        print_json([answer.to_json() for answer in whole])
    elif not given.as_lines:
        failures = {str(answer.error) for answer in whole}
        if whole and whole[0].error and len(failures) == 1:  # a missing key, say: told once
            raise whole[0].error
        print_answers(whole, plain=given.plain, thinking=bool(given.shown))
        for answer in whole:
            for remark in remarks(answer.reply) if answer.reply else ():
                say(f"{answer.name}: {remark}")
    return max((_code(answer) for answer in whole), default=0)


def _code(answer: AskResult) -> int:
    if answer.error is not None:
        return code_of(answer.error)
    return 0 if answer.reply is None else exit_code_for(answer.reply, prefix=f"{answer.name}: ")
