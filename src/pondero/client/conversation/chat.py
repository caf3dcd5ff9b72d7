"""``Chat`` and ``AsyncChat``: conversations with tools, whose model and level may change.

A turn that fails leaves the history unchanged.
"""

from collections.abc import AsyncGenerator, Generator, Iterable, Sequence
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Generic, LiteralString, Self, TypeVar, Unpack, cast, overload

from ...canon import Event, Message, Reply, V
from ...catalog import ModelEntry
from ...errors import BadParameter, Unsupported, UsageError
from ...exchange import (
    Prepared,
    add_update,
    find_stated_window,
    make_destination,
    rejected_signatures,
    rejections_for,
)
from ...handoff import Manifest, Rejection, handoff
from ...store import ServerLike, load_catalog
from ...thinking import MYPY, KnownThinking, Plan, Policy, ThinkingLike, unknown_level
from ..cache_cost import count_prompt_tokens
from ..client import AsyncClient, Client
from ..default_client import default_async_client, default_client
from ..dial import check_parameters, resolve_and_plan, resolve_policy
from ..fallbacks import Models, parse_models
from ..prompts.attachments import Attachment, check_readable, parse_attachments
from ..prompts.messages import Prompt, parse_prompt
from ..prompts.options import (
    ChatOptions,
    ChatStartOptions,
    Options,
    check_options,
    take_retries,
)
from ..prompts.output import add_spent, find_correction
from ..stream import AsyncStream, Stream
from ..tools.tools import Approve, OfferedTool, ToolLike, Tools
from ..tracing import is_traced, start_agent
from .saved_chat import SavedChat, dump_chat, load_chat, saved_options
from .turn import AsyncTurn, Turn

if TYPE_CHECKING:
    from ..tracing.agents import AgentSpan

MAX_STEPS = 20
C = TypeVar("C", Client, AsyncClient)


class _Chat(Generic[C]):
    """A history of whole turns.

    ``model`` and ``thinking`` may be set between turns. ``max_steps`` limits how often a turn asks
    the model; the last time it offers no tools. ``refusals``: the parts of the history that
    services rejected; they are not sent to them again. ``last_prompt``: the tokens of the last
    prompt as the service counted them, to say what a change of level costs.

    ``mcp``: MCP servers as names of config.toml, command lines, URLs or mappings; the first turn
    starts them. ``approve`` is called with a tool's name and arguments before it runs, and returns
    True, False, or "always" to approve this tool for good.
    """

    if not MYPY:

        @overload
        def __init__(
            self,
            model: Models,
            thinking: KnownThinking = None,
            *,
            client: C | None = None,
            **options: Unpack[ChatStartOptions],
        ) -> None: ...
        @overload
        @unknown_level
        def __init__(
            self,
            model: Models,
            thinking: LiteralString,
            *,
            client: C | None = None,
            **options: Unpack[ChatStartOptions],
        ) -> None: ...
        @overload
        def __init__(
            self,
            model: Models,
            thinking: ThinkingLike,
            *,
            client: C | None = None,
            **options: Unpack[ChatStartOptions],
        ) -> None: ...

    def __init__(
        self,
        model: Models,
        thinking: ThinkingLike = None,
        *,
        tools: Iterable[ToolLike] | Tools = (),
        mcp: Iterable[ServerLike] = (),
        approve: Approve | None = None,
        max_steps: int = MAX_STEPS,
        messages: Sequence[Message] = (),
        client: C | None = None,
        **options: Unpack[ChatOptions],
    ) -> None:
        self._client: C = self._check_client(client)
        check_options({**options, "mcp": mcp, "approve": approve, "max_steps": max_steps})
        if "attachments" in options:
            raise BadParameter("a chat has no attachments; use chat.send(..., attachments=[...])")
        if isinstance(max_steps, bool) or max_steps < 1:
            message = f"invalid max_steps={max_steps!r}; use 1 or more"
            raise BadParameter(message)
        self.messages: tuple[Message, ...] = tuple(messages)
        self.refusals: tuple[Rejection, ...] = ()
        self._tools: Tools = _tools_of(tools, mcp, approve)
        self._owns = self._tools is not tools
        self._max_steps = max_steps
        self._options = options
        self._context: int | None = None
        self.last_prompt: int | None = None
        self._models = self._check_models(parse_models(model), thinking)
        self._thinking = thinking

    @property
    def model(self) -> str:
        """Return the model's name; set it to a list to add fallbacks."""
        return self._models[0]

    @model.setter
    def model(self, model: Models) -> None:
        names = parse_models(model)
        thinking = None if load_catalog().split(names[0]).level else self._thinking
        self._models, self._thinking = self._check_models(names, thinking), thinking

    @property
    def fallbacks(self) -> tuple[str, ...]:
        """Return the models to ask if the first does not answer."""
        return self._models[1:]

    @property
    def thinking(self) -> ThinkingLike:
        """Return the requested level; None if the model's name has it."""
        return self._thinking

    @thinking.setter
    def thinking(self, thinking: ThinkingLike) -> None:
        self._check_models(self._models, thinking)
        self._thinking = thinking

    @property
    def policy(self) -> Policy:
        """Return the policy of this chat: its own, else its client's."""
        return resolve_policy(self._options.get("policy", self._client.policy))

    @property
    def handoff(self) -> Manifest:
        """Return the changes to the history for the current model."""
        entry = self._entry(self.model, self._thinking)
        window = find_stated_window(entry, self.messages, self.policy)
        to = make_destination(
            entry,
            self.policy,
            updates_from=window.start if window is not None else None,
            refused=rejected_signatures(rejections_for(entry, self.refusals)),
            emulator=self._client._find_emulator(entry.provider),  # noqa: SLF001 - one library
        )
        return handoff(self.messages, to).manifest

    def prepare(self, prompt: Prompt, **options: Unpack[ChatOptions]) -> Prepared:
        """Return the first request of the next turn, with tools of connected MCP servers only."""
        check_options(options)
        attachments: tuple[Attachment, ...] = parse_attachments(options.pop("attachments", None))
        self._readers(attachments)
        messages = (*self.messages, *self._read_prompt(prompt, attachments, options))
        asked = self._exchange_options(options, last=self._max_steps <= 1)
        return self._client.prepare(self.model, messages, self._thinking, **asked)

    def _read_prompt(
        self, prompt: Prompt, attachments: Sequence[Attachment], options: ChatOptions
    ) -> tuple[Message, ...]:
        """Return the messages of a prompt; a new level is one of them, if the model takes it so."""
        said = parse_prompt(prompt, attachments)
        if not self.messages:
            return said
        merged = cast("ChatOptions", {**self._options, **options})
        policy = resolve_policy(merged.get("policy", self._client.policy))
        entry, plan = self._plan(self.model, self._thinking, merged.get("thinking_effort"), policy)
        extras = merged.get("extras")
        return add_update(entry, plan, self.messages, said, policy=policy, extras=extras)

    def branch(self) -> Self:
        """Return a second chat with the same history, settings and tools, to go another way.

        Neither chat sees what happens in the other. The branch has MCP connections and approvals
        of its own, unless the chat was given a ``Tools``: both use that one. ``copy.deepcopy``
        returns the same.

        >>> other = chat.branch()
        >>> other.model = "gpt-5.1/high"
        >>> other.send("What is 17 * 23?").text, len(other.messages) - len(chat.messages)
        ('17 * 23 = 391', 2)
        """
        made = type(self).__new__(type(self))
        own = {"messages": deepcopy(self.messages), "_options": deepcopy(self._options)}
        tools = self._tools.branch() if self._owns else self._tools
        made.__dict__.update(self.__dict__, _tools=tools, **own)
        return made

    def __deepcopy__(self, _memo: object) -> Self:
        return self.branch()

    def to_json(self) -> str:
        """Return the chat as JSON text, without its tools and its client's keys."""
        return dump_chat(
            self.model,
            self._thinking,
            self.messages,
            self._max_steps,
            self._options,
            refusals=self.refusals,
            fallbacks=self.fallbacks,
        )

    @classmethod
    def from_json(
        cls,
        text: str | bytes,
        *,
        tools: Iterable[ToolLike] | Tools = (),
        mcp: Iterable[ServerLike] = (),
        approve: Approve | None = None,
        client: C | None = None,
    ) -> Self:
        """Continue a saved chat."""
        saved: SavedChat = load_chat(text)
        chat = cls(
            (saved.model, *saved.fallbacks),
            saved.thinking,
            tools=tools,
            mcp=mcp,
            approve=approve,
            max_steps=saved.max_steps,
            messages=saved.messages,
            client=client,
            **saved_options(saved),
        )
        chat.refusals = saved.refusals
        return chat

    def __repr__(self) -> str:
        level = "" if self._thinking is None else f" at {self._thinking!r}"
        state = f"{self.model!r}{level}, {len(self.messages)} messages"
        return f"<pondero.{type(self).__name__} {state}>"

    def _repr_markdown_(self) -> str:
        return "\n\n".join(f"**{each.role}**\n\n{each.text}" for each in self.messages if each.text)

    def _check_client(self, client: C | None) -> C:
        """Return the client to ask through; raises UsageError for one of the other kind."""
        raise NotImplementedError

    def _check_models(self, models: tuple[str, ...], thinking: ThinkingLike) -> tuple[str, ...]:
        for model in models:
            self._entry(model, thinking)
        return models

    def _entry(self, model: str, thinking: ThinkingLike) -> ModelEntry:
        return self._plan(model, thinking, self._options.get("thinking_effort"), self.policy)[0]

    def _plan(
        self, model: str, thinking: ThinkingLike, effort: ThinkingLike, policy: Policy
    ) -> tuple[ModelEntry, Plan]:
        """Return a model and its plan for a level, whatever else the request has."""
        rules = policy.but(unsupported="adjust")
        return resolve_and_plan(model, thinking, effort, asked=check_parameters(), policy=rules)

    def _readers(self, attachments: Sequence[Attachment]) -> Models:
        """Return the models that can read the attachments; raises Unsupported if none can."""
        if not self.fallbacks:
            check_readable(attachments, self._entry(self.model, self._thinking), self.policy)
            return self.model
        refusals: list[Unsupported] = []
        able: list[str] = []
        for model in self._models:
            try:
                check_readable(attachments, self._entry(model, self._thinking), self.policy)
                able.append(model)
            except Unsupported as error:
                refusals.append(error)
        if not able:
            raise refusals[0]
        return able

    def _exchange_options(self, options: ChatOptions, *, last: bool) -> Options:
        ours = {
            "tools": self._tools.tools,
            "refusals": self.refusals,
            "last_prompt": self.last_prompt,
        }
        merged = {"context": self._context, "cache": True, **self._options, **ours, **options}
        both = cast("Options", merged)
        both.pop("retries", None)
        if last and both.get("tools"):
            both["tool_choice"] = "none"
        return both

    def _take_retries(self, options: ChatOptions) -> tuple[int, ChatOptions]:
        """Return how often to ask again, and the options of each turn."""
        retries, _ = take_retries(cast("Options", {**self._options, **options}))
        rest = {name: value for name, value in options.items() if name != "retries"}
        return retries, cast("ChatOptions", rest)

    def _learn(self, refusals: Iterable[Rejection]) -> None:
        self.refusals = tuple(dict.fromkeys((*self.refusals, *refusals)))

    def _note_context(self, reply: Reply) -> Reply:
        usage = reply.usage
        self._context = usage.known_total or None
        self.last_prompt = count_prompt_tokens(usage)
        return reply

    def _start_agent(self, messages: Sequence[Message]) -> "AgentSpan | None":
        """Start the span of a turn that may run tools, if the application traces."""
        if not (is_traced() and self._tools.runs_some):
            return None
        entry = self._entry(self.model, self._thinking)
        return start_agent(entry.provider.name, entry.model, messages)

    def _end_agent(
        self, agent: "AgentSpan | None", replies: Sequence[Reply], error: BaseException | None
    ) -> None:
        if agent is not None:
            agent.end(self._tools.tools, replies, error)

    def _commit(self, messages: Iterable[Message]) -> None:
        self.messages = (*self.messages, *messages)


def _tools_of(
    tools: Iterable[ToolLike] | Tools, mcp: Iterable[ServerLike], approve: Approve | None
) -> Tools:
    if not isinstance(tools, Tools):
        return Tools(tools, mcp=mcp, approve=approve)
    if mcp or approve:
        raise BadParameter("a Tools object has its own mcp and approve; pass them to it")
    return tools


class Chat(_Chat[Client]):
    """A conversation; ``with`` stops the MCP servers it started.

    >>> with pondero.Chat("claude-opus-5/high", tools=[get_weather], mcp=["files"]) as chat:
    ...     chat.send("What is the weather in Bern?").text
    'get_weather (Bern) says: Bern: sunny'
    """

    def list_tools(self) -> tuple[OfferedTool, ...]:
        """Connect to the MCP servers and return every tool offered to the model.

        >>> for each in chat.list_tools():
        ...     print(each.tool.name, each.server, each.always)
        get_weather None False
        """
        self._tools.open()
        return self._tools.list_tools()

    def close(self) -> None:
        """Stop the MCP servers; the next turn starts them again. The client stays open."""
        if self._owns:
            self._tools.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, prompt: Prompt, **options: Unpack[ChatOptions[V]]) -> Reply[V]:
        """Send a prompt, run the called tools and return the last answer.

        With ``retries`` and ``output``, a value that does not fit is asked for again, as a turn.
        """
        retries, rest = self._take_retries(options)
        reply = self._send_once(prompt, rest)
        while retries and (words := find_correction(reply)) is not None:
            retries -= 1
            rest.pop("attachments", None)
            reply = add_spent(self._send_once(words, rest), reply)
        return reply

    def _send_once(self, prompt: Prompt, options: ChatOptions) -> Reply:
        with self.stream(prompt, **options) as turn:
            turn.shows = False
            for _ in turn:
                pass
        return turn.reply

    def stream(self, prompt: Prompt, *, keep: bool = False, **options: Unpack[ChatOptions]) -> Turn:
        """Send a prompt and return the events of the turn, over all its exchanges.

        ``keep``: the history keeps what came of a turn that is cut off or closed early, if anything
        did: the question, and the answer so far, even if it is thinking only.
        """
        check_options(options)
        attachments = parse_attachments(options.pop("attachments", None))
        models = self._readers(attachments)
        return Turn(
            lambda turn: self._run(turn, models, options, keep=keep),
            self.messages,
            self._read_prompt(prompt, attachments, options),
            tools=self._tools,
            max_steps=self._max_steps,
        )

    def _check_client(self, client: Client | None) -> Client:
        if not isinstance(client, Client | None):
            raise UsageError("Chat needs a Client; use AsyncChat with an AsyncClient")
        return client or default_client()

    def _run(
        self, turn: Turn, models: Models, options: ChatOptions, *, keep: bool
    ) -> Generator[Event, None, None]:
        thinking, agent = self.thinking, self._start_agent(turn.messages)
        stream: Stream | None = None
        try:
            self._tools.open()
            while not turn.is_over:
                asked = self._exchange_options(options, last=turn.is_last)
                stream = self._client.stream(models, turn.messages, thinking, **asked)
                stream._agent, stream._shows = agent, turn.shows  # noqa: SLF001 - of this very turn
                turn.current = partial(getattr, stream, "message")
                turn.count_used = stream._count_so_far  # noqa: SLF001 - as above
                with stream:
                    if turn.shows:
                        yield from stream
                    else:
                        stream.read_all()
                self._learn(stream.refusals)
                calls, stream = turn.take(self._note_context(stream.reply)), None
                if calls:
                    turn.give(self._tools.run_all(calls, agent))
        except BaseException as error:
            self._end_agent(agent, turn.replies, error)
            if stream is not None:
                self._learn(stream.refusals)
            if keep:
                self._commit(turn.messages_to_keep(stream.message if stream else None))
            raise
        self._end_agent(agent, turn.replies, None)
        self._commit(turn.added)
        turn.ended = True


class AsyncChat(_Chat[AsyncClient]):
    """The async twin of Chat; the tools of one step run concurrently.

    >>> async with pondero.AsyncChat("claude-opus-5/high") as chat:
    ...     (await chat.send("What is 17 * 23?")).text
    '17 * 23 = 391'
    """

    async def list_tools(self) -> tuple[OfferedTool, ...]:
        """Connect to the MCP servers and return every tool offered to the model."""
        await self._tools.aopen()
        return self._tools.list_tools()

    async def aclose(self) -> None:
        """Stop the MCP servers; the next turn starts them again. The client stays open."""
        if self._owns:
            await self._tools.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def send(self, prompt: Prompt, **options: Unpack[ChatOptions[V]]) -> Reply[V]:
        """Send a prompt, run the called tools and return the last answer, as ``Chat.send`` does."""
        retries, rest = self._take_retries(options)
        reply = await self._send_once(prompt, rest)
        while retries and (words := find_correction(reply)) is not None:
            retries -= 1
            rest.pop("attachments", None)
            reply = add_spent(await self._send_once(words, rest), reply)
        return reply

    async def _send_once(self, prompt: Prompt, options: ChatOptions) -> Reply:
        async with self.stream(prompt, **options) as turn:
            turn.shows = False
            async for _ in turn:
                pass
        return turn.reply

    def stream(
        self, prompt: Prompt, *, keep: bool = False, **options: Unpack[ChatOptions]
    ) -> AsyncTurn:
        """Send a prompt and return the events of the turn, over all its exchanges.

        ``keep``: the history keeps what came of a turn that is cut off or closed early, if anything
        did: the question, and the answer so far, even if it is thinking only.
        """
        check_options(options)
        attachments = parse_attachments(options.pop("attachments", None))
        models = self._readers(attachments)
        return AsyncTurn(
            lambda turn: self._run(turn, models, options, keep=keep),
            self.messages,
            self._read_prompt(prompt, attachments, options),
            tools=self._tools,
            max_steps=self._max_steps,
        )

    def _check_client(self, client: AsyncClient | None) -> AsyncClient:
        if not isinstance(client, AsyncClient | None):
            raise UsageError("AsyncChat needs an AsyncClient; use Chat with a Client")
        return client or default_async_client()

    async def _run(
        self, turn: AsyncTurn, models: Models, options: ChatOptions, *, keep: bool
    ) -> AsyncGenerator[Event, None]:
        thinking, agent = self.thinking, self._start_agent(turn.messages)
        stream: AsyncStream | None = None
        try:
            await self._tools.aopen()
            while not turn.is_over:
                asked = self._exchange_options(options, last=turn.is_last)
                stream = self._client.stream(models, turn.messages, thinking, **asked)
                stream._agent, stream._shows = agent, turn.shows  # noqa: SLF001 - of this very turn
                turn.current = partial(getattr, stream, "message")
                turn.count_used = stream._count_so_far  # noqa: SLF001 - as above
                async with stream:
                    if turn.shows:
                        async for event in stream:
                            yield event
                    else:
                        await stream.read_all()
                self._learn(stream.refusals)
                calls, stream = turn.take(self._note_context(stream.reply)), None
                if calls:
                    turn.give(await self._tools.arun_all(calls, agent))
        except BaseException as error:
            self._end_agent(agent, turn.replies, error)
            if stream is not None:
                self._learn(stream.refusals)
            if keep:
                self._commit(turn.messages_to_keep(stream.message if stream else None))
            raise
        self._end_agent(agent, turn.replies, None)
        self._commit(turn.added)
        turn.ended = True
