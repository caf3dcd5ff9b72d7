"""examples/many_requests.py with litellm."""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import litellm
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

AT_ONCE = 32


@dataclass
class Budget:
    """What may be spent, in dollars. A request under way counts as the dearest one so far."""

    limit: float
    spent: float = 0
    dearest: float = 0
    under_way: int = 0

    def reserve(self) -> bool:
        fits = self.spent + (self.under_way + 1) * self.dearest <= self.limit
        self.under_way += fits
        return fits

    def settle(self, used: float) -> None:
        self.under_way -= 1
        self.spent += used
        self.dearest = max(self.dearest, used)


async def answer_all(model: str, questions: list[str], output: Path, budget: Budget) -> int:
    answered = read_answered(output)
    waiting = iter([question for question in questions if question not in answered])
    with output.open("a", encoding="utf-8") as file, make_bar() as bar:
        task = bar.add_task("answers", total=len(questions), completed=len(answered), spent=0)

        async def work(questions: Iterable[str]) -> None:
            for question in questions:
                if not budget.reserve():
                    return
                used = 0.0
                try:
                    reply = await litellm.acompletion(
                        model=model,
                        messages=[{"role": "user", "content": question}],
                        num_retries=3,
                    )
                    used = litellm.completion_cost(reply)
                    text = reply.choices[0].message.content
                    file.write(json.dumps({"question": question, "answer": text}) + "\n")
                    bar.update(task, advance=1, spent=budget.spent + used)
                except litellm.exceptions.APIError as error:
                    bar.console.print(f"{question}: {error}")
                finally:
                    budget.settle(used)

        await work(islice(waiting, 1))
        await asyncio.gather(*(work(waiting) for _ in range(AT_ONCE)))
    return len(set(questions) - read_answered(output))


def read_answered(output: Path) -> set[str]:
    if not output.exists():
        return set()
    return {json.loads(line)["question"] for line in output.read_text("utf-8").splitlines()}


def make_bar() -> Progress:
    columns = Progress.get_default_columns()[:2]
    spent = TextColumn("{task.fields[spent]:,.2f} spent")
    return Progress(*columns, MofNCompleteColumn(), TimeRemainingColumn(), spent)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Answer many questions inside a budget.")
    parser.add_argument("questions", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--model", default="anthropic/claude-haiku-4-5")
    parser.add_argument("--max-usd", type=float, required=True)
    chosen = parser.parse_args(arguments)
    questions = [line for line in chosen.questions.read_text("utf-8").splitlines() if line.strip()]
    budget = Budget(chosen.max_usd)
    missing = asyncio.run(answer_all(chosen.model, questions, chosen.output, budget))
    if missing:
        print(f"{missing:,} questions have no answer yet; run again to continue", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
