"""Logs for inspect_ai, one for each arm: version 2 of its JSON log (read with 0.3.285).

Repeats are epochs. Tokens of the output include those of thinking, told again as reasoning.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from importlib import metadata
from math import sqrt
from statistics import fmean, stdev

import msgspec

from ...canon import Json, Usage, dump_json
from ..questions import Question
from .values import ArmResult, SweepResults, TrialAnswer

TASK = "pondero-sweep"
_STATUS = {"done": "success", "running": "started"}
_STOPS = {
    "stop": "stop",
    "length": "max_tokens",
    "exhausted": "max_tokens",
    "tool_calls": "tool_calls",
    "refusal": "content_filter",
    "content_filter": "content_filter",
    "context_full": "model_length",
}
_REASONS = {"refused": "refusal", "exhausted": "no_response"}
_WORDS = {1.0: "C", 0.0: "I"}
_ROLES = ("system", "user", "assistant")
_OFF = "none"  # what inspect_ai calls off


def inspect_logs(results: SweepResults) -> Iterator[tuple[str, str]]:
    """Yield a file's name and its text for each arm that was asked anything."""
    stamp = _time(results.facts.started).replace(":", "-")
    for number, arm in enumerate(results.arms):
        samples = list(_samples(results, number))
        if samples:
            id_ = _id(results.run, arm.name)
            yield f"{stamp}_{TASK}_{id_}.json", dump_json(_log(results, arm, samples, id_))


def _log(results: SweepResults, arm: ArmResult, samples: list[dict[str, Json]], id_: str) -> Json:
    spec, model = results.facts.spec, _model(arm)
    moments = [each["completed_at"] for each in samples]
    started = _time(results.facts.started)
    usage = _sum_usage([each["model_usage"][model] for each in samples])
    return {
        "version": 2,
        "status": _STATUS.get(results.state, "cancelled"),
        "eval": {
            "eval_id": id_,
            "run_id": _id(results.run, ""),
            "task_id": _id(TASK, arm.name),
            "created": started,
            "task": TASK,
            "task_display_name": f"{TASK} {results.run}",
            "task_args": {"level": arm.level, "judge": results.judge},
            "tags": [results.run, arm.level],
            "dataset": {
                "name": results.facts.data,
                "samples": len({each["id"] for each in samples}),
                "sample_ids": list(dict.fromkeys(each["id"] for each in samples)),
                "shuffled": True,
            },
            "model": model,
            "model_generate_config": _config(results, arm),
            "config": {"epochs": spec.repeats, "epochs_reducer": ["mean"]},
            "packages": {"pondero": metadata.version("pondero")},
            "metadata": {"pondero": _finding(results, arm)},
        },
        "plan": {"name": "plan", "steps": [{"solver": "generate", "params": {}}]},
        "results": _results(results, samples),
        "stats": {
            "started_at": started,
            "completed_at": max(moments),
            "model_usage": {model: usage},
        },
        "samples": samples,
    }


def _finding(results: SweepResults, arm: ArmResult) -> dict[str, Json]:
    return {
        "run": results.run,
        "levels": list(arm.levels),
        "fields": arm.fields,
        "verdict": arm.verdict,
        "reference": results.reference.name,
        "margin": results.facts.spec.margin,
        "difference": arm.difference,
        "won_at": arm.won_at,
        "capital": arm.capital,
        "recommended": results.recommendation and results.recommendation.name,
    }


def _config(results: SweepResults, arm: ArmResult) -> dict[str, Json]:
    spec = results.facts.spec
    config: dict[str, Json] = {"extra_body": arm.fields}
    if arm.level.isdecimal():
        config["reasoning_tokens"] = int(arm.level)
    elif arm.level in _EFFORTS:
        config["reasoning_effort"] = _EFFORTS[arm.level]
    if spec.max_tokens is not None:
        config["max_tokens"] = spec.max_tokens
    if spec.system is not None:
        config["system_message"] = spec.system
    return config


_EFFORTS = {
    "off": _OFF, "minimal": "minimal", "low": "low", "medium": "medium", "high": "high",
    "xhigh": "xhigh", "max": "max",
}  # fmt: skip


# -- samples ---------------------------------------------------------------------------------------


def _samples(results: SweepResults, number: int) -> Iterator[dict[str, Json]]:
    for row in results.rows:
        cell = row.cells[number]
        for answer in cell.answers if cell is not None else ():
            yield _sample(results, results.arms[number], row.question, answer)


def _sample(
    results: SweepResults, arm: ArmResult, question: Question, answer: TrialAnswer
) -> dict[str, Json]:
    settled, model = answer.settled, _model(arm)
    asked, usage = _input(question), _usage(answer.settled.usage, answer.settled.cost)
    said = {"role": "assistant", "content": settled.text, "source": "generate", "model": model}
    messages = asked if isinstance(asked, list) else [{"role": "user", "content": asked}]
    sample: dict[str, Json] = {
        "id": question.id,
        "epoch": answer.repeat,
        "input": asked,
        "choices": list(question.choices) or None,
        "target": list(question.target) if len(question.target) != 1 else question.target[0],
        "messages": [*messages, said],
        "output": {
            "model": settled.model or model,
            "choices": [{"message": said, "stop_reason": _STOPS.get(settled.finish, "unknown")}],
            "completion": settled.text,
            "usage": usage,
            "time": settled.seconds,
        },
        "scores": _scores(results, answer),
        "metadata": question.metadata,
        "model_usage": {model: usage},
        "started_at": _time(settled.at - settled.seconds),
        "completed_at": _time(settled.at),
        "total_time": settled.seconds,
        "working_time": settled.seconds,
        "uuid": _id(settled.key, question.id),
    }
    if settled.error is not None:
        message = settled.error
        sample["error"] = {"message": message, "traceback": message, "traceback_ansi": message}
    return sample


def _input(question: Question) -> Json:
    prompt = question.prompt
    if isinstance(prompt, str):
        return prompt
    plain = all(
        each.get("role") in _ROLES and isinstance(each.get("content"), str) for each in prompt
    )
    return (
        [{"role": m["role"], "content": m["content"]} for m in prompt] if plain else question.words
    )


def _scores(results: SweepResults, answer: TrialAnswer) -> Json:
    if answer.score is None:
        return None
    score: dict[str, Json] = {
        "value": _WORDS.get(answer.score, answer.score),
        "answer": answer.settled.text,
        "explanation": (answer.grade.note if answer.grade else "") or None,
        "metadata": {"outcome": answer.outcome},
    }
    if answer.outcome in _REASONS:
        score["reason"] = _REASONS[answer.outcome]
    return {results.judge: score}


def _results(results: SweepResults, samples: Sequence[dict[str, Json]]) -> Json:
    """Return the figures as inspect_ai computes them from these samples: epochs averaged first."""
    by_question: dict[str, list[float]] = {}
    for each in samples:
        if each["scores"] is not None:
            value = each["scores"][results.judge]["value"]
            number = {"C": 1.0, "I": 0.0}.get(value, value)
            by_question.setdefault(each["id"], []).append(number)
    means = [fmean(values) for values in by_question.values()]
    error = stdev(means) / sqrt(len(means)) if len(means) > 1 else 0.0
    figures = {"accuracy": fmean(means) if means else 0.0, "stderr": error}
    return {
        "total_samples": len(samples),
        "completed_samples": sum("error" not in each for each in samples),
        "scores": [
            {
                "name": results.judge,
                "scorer": results.judge,
                "scored_samples": len(means),
                "metrics": {
                    name: {"name": name, "value": value} for name, value in figures.items()
                },
            }
        ],
    }


# -- small values ----------------------------------------------------------------------------------


def _model(arm: ArmResult) -> str:
    return arm.model.replace(":", "/", 1)


def _usage(usage: Usage, cost: str | None) -> dict[str, Json]:
    known = msgspec.to_builtins(usage)
    output = (known["output"] or 0) + (known["thinking"] or 0)
    return {
        "input_tokens": known["input"] or 0,
        "output_tokens": output,
        "total_tokens": usage.known_total,
        "input_tokens_cache_write": known["cache_write"],
        "input_tokens_cache_read": known["cache_read"],
        "reasoning_tokens": known["thinking"],
        "total_cost": None if cost is None else float(cost),
    }


def _sum_usage(usages: Sequence[dict[str, Json]]) -> dict[str, Json]:
    return {name: _sum(each[name] for each in usages) for name in usages[0]}


def _sum(values: Iterable[Json]) -> Json:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _id(*words: str) -> str:
    return blake2b("\0".join(words).encode("utf-8", "replace"), digest_size=11).hexdigest()


def _time(moment: float) -> str:
    return datetime.fromtimestamp(max(0.0, moment), UTC).isoformat(timespec="seconds")
