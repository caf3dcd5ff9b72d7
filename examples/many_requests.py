"""Send two thousand requests with a progress bar, inside a budget, and continue after a stop.

    python examples/many_requests.py questions.txt answers.jsonl --max-usd 5
    python examples/many_requests.py questions.txt answers.jsonl --offline --max-tokens 400000

One question a line. Each answer is one line of answers.jsonl; a second run asks only what is
missing there. No request starts if it could bring what was spent above the budget.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import pondero
from pondero.emulator import Emulator

AT_ONCE = 32


@dataclass
class Budget:
    """What may be spent. A request under way counts as the dearest one so far."""

    limit: float
    in_dollars: bool
    spent: float = 0
    dearest: float = 0
    under_way: int = 0

    def reserve(self) -> bool:
        """Return whether another request may start, and count it as under way."""
        fits = self.spent + (self.under_way + 1) * self.dearest <= self.limit
        self.under_way += fits
        return fits

    def settle(self, used: float) -> None:
        """Count what a request has used in place of what was reserved for it."""
        self.under_way -= 1
        self.spent += used
        self.dearest = max(self.dearest, used)

    def measure(self, reply: pondero.Reply) -> float:
        """Return what an answer used, in dollars or tokens."""
        if not self.in_dollars:
            return reply.usage.total or 0
        if reply.cost is None:
            sys.exit(f"the cost is unknown: {reply.cost_unknown}; use --max-tokens")
        return float(reply.cost.usd)


async def answer_all(
    client: pondero.AsyncClient, model: str, questions: list[str], output: Path, budget: Budget
) -> int:
    """Write an answer for each question that has none yet; return how many are missing."""
    answered = read_answered(output)
    waiting = iter([question for question in questions if question not in answered])
    with output.open("a", encoding="utf-8") as file, make_bar(in_dollars=budget.in_dollars) as bar:
        task = bar.add_task("answers", total=len(questions), completed=len(answered), spent=0)

        async def work(questions: Iterable[str]) -> None:
            for question in questions:
                if not budget.reserve():
                    return
                used = 0.0
                try:
                    reply = await client.ask(model, question)
                    used = budget.measure(reply)
                    line = json.dumps({"question": question, "answer": reply.text})
                    file.write(f"{line}\n")
                    bar.update(task, advance=1, spent=budget.spent + used)
                except pondero.ServiceError as error:  # after its retries; the others go on
                    bar.console.print(f"{question}: {error}")
                finally:
                    budget.settle(used)

        await work(islice(waiting, 1))  # the first one says what a request costs
        await asyncio.gather(*(work(waiting) for _ in range(AT_ONCE)))
    return len(set(questions) - read_answered(output))


def read_answered(output: Path) -> set[str]:
    if not output.exists():
        return set()
    return {json.loads(line)["question"] for line in output.read_text("utf-8").splitlines()}


def make_bar(*, in_dollars: bool) -> Progress:
    columns = Progress.get_default_columns()[:2]
    amount = "${task.fields[spent]:,.2f}" if in_dollars else "{task.fields[spent]:,.0f} tokens"
    spent = TextColumn(f"{amount} spent")
    return Progress(*columns, MofNCompleteColumn(), TimeRemainingColumn(), spent)


async def run(chosen: argparse.Namespace) -> int:
    questions = [line for line in chosen.questions.read_text("utf-8").splitlines() if line.strip()]
    budget = Budget(chosen.max_usd or chosen.max_tokens, in_dollars=chosen.max_usd is not None)
    async with pondero.AsyncClient(transport=Emulator() if chosen.offline else None) as client:
        missing = await answer_all(client, chosen.model, questions, chosen.output, budget)
    if missing:
        print(f"{missing:,} questions have no answer yet; run again to continue", file=sys.stderr)
    return 1 if missing else 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Answer many questions inside a budget.")
    parser.add_argument("questions", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--model", default="claude-haiku-4-5/off")
    parser.add_argument("--offline", action="store_true", help="ask the emulator")
    budget = parser.add_mutually_exclusive_group(required=True)
    budget.add_argument("--max-usd", type=float)
    budget.add_argument("--max-tokens", type=int)
    return asyncio.run(run(parser.parse_args(arguments)))


if __name__ == "__main__":
    sys.exit(main())
