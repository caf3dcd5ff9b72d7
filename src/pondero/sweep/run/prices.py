"""Prices before a request is sent: the most that an answer and its grade can cost."""

from decimal import Decimal

from ...batch import batch_discount
from ...canon import Usage, dump_json
from ...errors import BadParameter
from ...store import assume_media, load_catalog, price_usage
from ..arms import Arm
from ..grading.judges import find_judge_kind, find_judge_model
from ..questions import Question
from ..spec import Spec

_JUDGING = 2_048  # tokens of a judge's own instructions
_BYTES_OF_TOKEN = 4  # about, of English text
_ENVELOPE = 512  # tokens around a prompt: roles, separators, the service's own prompt


def max_answer_cost(
    arm: Arm, question: Question, *, system: str | None, max_tokens: int | None
) -> Decimal:
    """Return the most an answer can cost, at one byte a token; raise BadParameter if unlimited."""
    entry = load_catalog().entry(arm.model)
    most = max_tokens or entry.capability.max_output
    if most is None:
        message = (
            f"the output limit of {arm.model} is unknown, so its cost cannot be limited; "
            "set --max-tokens"
        )
        raise BadParameter(message)
    usage = Usage(input=count_bytes(question, system) + _ENVELOPE, output=most)
    return _price(arm, assume_media(entry.provider.name, entry.model, usage, media=()))


def count_bytes(question: Question, system: str | None = None) -> int:
    """Return the bytes of a prompt, by which its cost is estimated."""
    return len(dump_json(question.prompt).encode()) + len((system or "").encode())


def _price(arm: Arm, usage: Usage) -> Decimal:
    entry = load_catalog().entry(arm.model)
    price = price_usage(entry.provider.name, entry.model, usage)
    if price is None:
        message = (
            f"no price of {arm.model} is known, so its cost cannot be limited; remove --budget"
        )
        raise BadParameter(message)
    return price


def max_trial_cost(spec: Spec, arm: Arm, question: Question) -> Decimal:
    """Return the most that one answer can cost, at the engine's price."""
    bound = max_answer_cost(arm, question, system=spec.system, max_tokens=spec.max_tokens)
    return bound * _find_discount(spec, arm)


def usual_trial_cost(spec: Spec, arm: Arm, question: Question, tokens: int) -> Decimal:
    """Return about what an answer of this length costs; raise BadParameter without a price."""
    words = count_bytes(question, spec.system) // _BYTES_OF_TOKEN
    return _price(arm, Usage(input=words, output=tokens)) * _find_discount(spec, arm)


def _find_discount(spec: Spec, arm: Arm) -> Decimal:
    if spec.engine not in DISCOUNTED:
        return Decimal(1)
    return batch_discount(load_catalog().entry(arm.model).provider.name)


def find_trial_bound(spec: Spec, arm: Arm, question: Question) -> Decimal | None:
    """Return the most that one answer can cost, also without a budget; None if it is unlimited.

    A request that is lost may have cost that much. An emulator's answers cost nothing.
    """
    if spec.budget is not None:
        return max_trial_cost(spec, arm, question)
    try:
        return None if spec.offline else max_trial_cost(spec, arm, question)
    except BadParameter:
        return None


def max_grade_cost(
    spec: Spec, arm: Arm | None, question: Question, *, answer: str | None = None
) -> Decimal | None:
    """Return the most that a model's grade of one answer can cost, or None for other judges."""
    model = find_judge_model(spec.judge)
    if not model:
        return None
    entry = load_catalog().entry(load_catalog().apart(model)[0])
    criteria = question.metadata.get("rubric", "")
    texts = (question.prompt, question.target, criteria)
    words = sum(len(dump_json(each).encode()) for each in texts)
    if answer is not None:
        words += len(answer.encode())
    elif arm is not None:
        limit = spec.max_tokens or load_catalog().entry(arm.model).capability.max_output
        words += limit or 0
    usage = Usage(input=words + _JUDGING, output=entry.capability.max_output or _JUDGING)
    usage = assume_media(entry.provider.name, entry.model, usage, media=())
    price = price_usage(entry.provider.name, entry.model, usage)
    return None if price is None else price * find_judge_kind(spec.judge).asks


DISCOUNTED = ("batch",)
"""The engines with the price of batches."""


def is_priced(model: str) -> bool:
    """Return whether a price of this model is known."""
    entry = load_catalog().entry(model)
    return (
        price_usage(entry.provider.name, entry.model, Usage(input=1_000, output=1_000)) is not None
    )
