"""What an answer says about itself: its counts, its end, and what came along with it."""

from pondero.canon import Finished, Json

from .answers import Answer, Choice
from .finish import finish_of
from .parts import Parts
from .usage import cost_of, usage_of


class Notes:
    """Feed what stands beside the message; ``over`` once the service has said that it ends."""

    def __init__(self) -> None:
        self.over = False
        self.counts: Json = None
        self.extras: dict[str, Json] = {}
        self._raw_finish: str | None = None
        self._grounding: dict[str, Json] = {}
        self._safety: dict[str, Json] = {}

    def take(self, answer: Answer) -> None:
        """Take what a body or a chunk brings along."""
        if isinstance(answer.x_groq, dict) and answer.x_groq.get("usage") and self.counts is None:
            self.counts = answer.x_groq["usage"]
        if answer.citations:
            self._grounding["citations"] = answer.citations
        if answer.search_results:
            self._grounding["search_results"] = answer.search_results
        if answer.prompt_filter_results:
            self._safety["prompt_filter_results"] = answer.prompt_filter_results
        if answer.cost:
            self.extras["cost"] = answer.cost
        if answer.error:  # the answer had ended by then
            self.extras["error"] = answer.error

    def take_choice(self, choice: Choice) -> None:
        """Take how a choice ended."""
        if choice.finish_reason and self._raw_finish is None:
            self._raw_finish = choice.finish_reason
            self.over = True
        if choice.native_finish_reason:
            self.extras["native_finish_reason"] = choice.native_finish_reason
        if choice.content_filter_results:
            self._safety["content_filter_results"] = choice.content_filter_results
        if choice.usage and self.counts is None:
            self.counts = choice.usage
        if choice.error:  # a part of the answer is there, and more will not come
            self.extras["error"] = choice.error
            self.over = True

    def finished(self, parts: Parts, *, model: str | None, outside: bool) -> Finished:
        """Return the last event."""
        usage = usage_of(self.counts, outside=outside)
        if (cost := cost_of(self.counts)) is not None:
            self.extras["cost"] = cost
        finish = finish_of(
            self._raw_finish,
            calls=parts.called,
            text=parts.spoke,
            refused=parts.refused,
            thought=parts.thought or bool(usage.thinking),
            failed="error" in self.extras,
        )
        return Finished(
            finish,
            usage,
            raw_finish=self._raw_finish,
            model=model,
            grounding=self._grounding or None,
            safety=self._safety or None,
            extras=self.extras or None,
        )
