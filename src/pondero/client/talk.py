"""What a chat is whoever waits for it: a history, tools, a model and a dial."""

from collections.abc import Iterable, Sequence
from typing import Unpack

from ..canon import Message, Reply
from ..catalog import Entry
from ..errors import BadParameter
from ..exchange import destination
from ..handoff import Manifest, Refusal, handoff
from ..store import lookup
from ..thinking import Policy
from .dial import asked_of, planned, policy_of
from .options import ChatOptions, Options, Prompt, check, messages_of
from .refusals import Thread, refused_by, seals
from .saved import written
from .tools import Toolbox, ToolLike
from .turn import Ask, Turn

STEPS = 20


class Talk:
    """A history that only whole turns are added to.

    ``model`` and ``thinking`` may be set between turns. ``steps`` is how many times a turn may
    ask at most, the last time without tools. ``refusals`` is what services did not take of this
    history; it is not sent to them again.
    """

    def __init__(
        self,
        model: str,
        thinking: object = None,
        *,
        tools: Iterable[ToolLike] = (),
        steps: int = STEPS,
        messages: Sequence[Message] = (),
        **options: Unpack[ChatOptions],
    ) -> None:
        check(options)
        if isinstance(steps, bool) or steps < 1:
            message = f"steps={steps!r} cannot be; a turn asks at least once"
            raise BadParameter(message)
        self.messages: tuple[Message, ...] = tuple(messages)
        self._tools = Toolbox(tools)
        self._steps = steps
        self._options = options
        self._context: int | None = None
        self.refusals: tuple[Refusal, ...] = ()
        self._entry(model, thinking)
        self._model, self._thinking = model, thinking

    @property
    def model(self) -> str:
        """Return the model as it was said; a level said with it counts until another is set."""
        return self._model

    @model.setter
    def model(self, model: str) -> None:
        thinking = None if lookup().split(model).wish else self._thinking
        self._entry(model, thinking)
        self._model, self._thinking = model, thinking

    @property
    def thinking(self) -> object:
        """Return the wish for thinking; None where what the model was named with counts."""
        return self._thinking

    @thinking.setter
    def thinking(self, thinking: object) -> None:
        self._entry(self._model, thinking)
        self._thinking = thinking

    @property
    def policy(self) -> Policy:
        """Return the policy of this chat."""
        return policy_of(self._options.get("policy"))

    @property
    def handoff(self) -> Manifest:
        """Return what of the history the present model is not shown, or not as it was."""
        entry = self._entry(self._model, self._thinking)
        to = destination(entry, self.policy, refused=seals(refused_by(entry, self.refusals)))
        return handoff(self.messages, to).manifest

    def to_json(self) -> str:
        """Return the chat as JSON text: history and seals, model, level, options; no tools."""
        return written(
            self._model,
            self._thinking,
            self.messages,
            self._steps,
            self._options,
            refusals=self.refusals,
        )

    def _entry(self, model: str, thinking: object) -> Entry:
        """Return where a model lives; raises for a model or a wish that nobody knows."""
        policy = self.policy.but(unsupported="adjust")
        effort = self._options.get("thinking_effort")
        return planned(model, thinking, effort, asked=asked_of(), policy=policy)[0]

    def _turn(self, prompt: Prompt) -> Turn:
        return Turn(self.messages, messages_of(prompt), tools=self._tools, limit=self._steps)

    def _thread(self, step: Ask) -> Thread:
        return Thread(step.messages, self.refusals, self._learn)

    def _learn(self, refusal: Refusal) -> None:
        if refusal not in self.refusals:
            self.refusals = (*self.refusals, refusal)

    def _asked(self, step: Ask, options: ChatOptions) -> Options:
        """Return the options of one exchange: those of the chat under those of the turn."""
        both: Options = {
            "context": self._context,
            **self._options,
            "tools": self._tools.tools,
            **options,
        }
        if not step.calls and both.get("tools"):
            both["tool_choice"] = "none"
        return both

    def _heard(self, reply: Reply) -> Reply:
        """Return the reply, after noting how long the conversation is now."""
        self._context = reply.usage.counted or None
        return reply

    def _commit(self, messages: Iterable[Message]) -> None:
        self.messages = (*self.messages, *messages)
