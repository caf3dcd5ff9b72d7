"""Several models for one question: the next is asked if one fails before anything was shown.

The rules are the gateway's (``exchange``). A client makes ``Candidates`` of a list of models; its
stream asks them in turn.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from ..canon import Message, Reply, V
from ..catalog import ModelEntry
from ..errors import BadParameter, PonderoError
from ..exchange import Prepared, gave_last_answer, is_fallback_error
from ..thinking import Adjustment
from .tracing import log_fallback

Models = str | Sequence[str]

_LONGEST = 300


class Candidates:
    """The models left to ask; each is prepared when it is its turn."""

    def __init__(self, models: Sequence[str], prepare: Callable[[str], Prepared]) -> None:
        self._left = list(models)
        self._prepare = prepare
        self._model = ""
        self._failed: list[tuple[str, PonderoError]] = []

    @property
    def are_left(self) -> bool:
        """Return whether another model is left."""
        return bool(self._left)

    def first(self) -> Prepared:
        """Return the first model that can be prepared; raises the last failure if none can."""
        found = self._next()
        if found is None:
            raise self._last_failure()
        return found

    def next_after(self, error: PonderoError) -> Prepared | None:
        """Return the next model after a failure; None if the failure is final."""
        self._failed.append((self._model, error))
        if not is_fallback_error(error):
            self._left.clear()
        found = self._next()
        if found is not None:
            return found
        last = self._last_failure()
        if last is not error:
            raise last from error
        return None

    def notes(self) -> tuple[Adjustment, ...]:
        """Return an adjustment for each model that did not answer."""
        return tuple(
            Adjustment("fell_back", "model", model, self._model, _why(model, error))
            for model, error in self._failed
        )

    def add_notes(self, reply: Reply[V]) -> Reply[V]:
        """Return the reply with these adjustments in its plan."""
        plan, notes = reply.plan, self.notes()
        if not notes:
            return reply
        return replace(reply, plan=replace(plan, adjustments=(*plan.adjustments, *notes)))

    def _next(self) -> Prepared | None:
        while self._left:
            before, self._model = self._model, self._left.pop(0)
            if before:
                log_fallback(before, self._model, self._failed[-1][1])
            try:
                return self._prepare(self._model)
            except PonderoError as error:
                self._failed.append((self._model, error))
                if not is_fallback_error(error):
                    break
        return None

    def _last_failure(self) -> PonderoError:
        *before, (_, last) = self._failed
        for model, error in before:
            last.add_note(_why(model, error))
        return last


def parse_models(models: Models) -> tuple[str, ...]:
    """Return the models of a list; raises BadParameter for an empty one."""
    names = (models,) if isinstance(models, str) else tuple(_iterate(models))
    if not names or not all(isinstance(name, str) for name in names):
        message = f"a model is a name, or a list of names in order of preference, not {models!r}"
        raise BadParameter(message)
    return names


def _iterate(given: Any) -> Iterable[Any]:
    return given if isinstance(given, Iterable) else ()


def order_models(
    names: Sequence[str], entry_of: Callable[[str], ModelEntry], messages: Sequence[Message]
) -> list[str]:
    """Put the model first that gave the last answer: it can read the signatures."""
    return sorted(names, key=lambda name: not gave_last_answer(entry_of(name), messages))


def _why(model: str, error: PonderoError) -> str:
    reason = f"{type(error).__name__}: {error}"[:_LONGEST]
    return f"{model} did not answer: {reason}"
