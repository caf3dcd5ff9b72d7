"""Counts what the services of one request served; budget, ledger, metrics and log show its figures.

Every call of a service counts, also one before a retry or a fallback. Where the service did not
report all tokens (a client left, a connection broke), the most that it may have served is counted,
and the figures are ``estimated``: they are never less than what was served.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from decimal import Decimal
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from ...canon import (
    Assembler,
    HttpRequest,
    Json,
    Message,
    Reply,
    Text,
    Thinking,
    ToolCall,
    Usage,
    add_media,
    dump_json,
)
from ...catalog import ModelEntry
from ...errors import PonderoError, TransportError
from ...exchange import AsyncResponse, AsyncTransport, Timeouts
from ...store import assume_media, price_usage
from ...thinking import Plan
from ..requests.routed_request import RoutedRequest
from .framed_bound import find_framed_bound
from .hosted_tools import find_added, find_advisor
from .measured_prompt import MeasuredPrompt, MeasuredPrompts
from .output_bound import OutputBound, count_answers, find_background, find_output_bound
from .prompt_bound import find_prompt_bound, find_prompt_media
from .quota import BILLION, Unit

_LONGEST_TOKEN = 8
"""Characters per token of an answer, which no service exceeds on average."""
_AROUND_CALL = 64  # tokens that a service adds around an answer or a call
_ANY_SIZE = 2**53


class Figures(Struct, frozen=True, kw_only=True):
    """What a request took: the same numbers for its record and its quotas.

    ``cost``: dollars, None if no price is known.
    """

    usage: Usage = Usage()
    estimated: bool = False
    cost: Decimal | None = None
    calls: int = 0

    def amounts(self) -> dict[Unit, int]:
        """Return the amount of each unit."""
        return {
            "requests": 1 if self.calls else 0,
            "tokens": self.usage.known_total,
            "thinking_tokens": self.usage.thinking or 0,
            "money": ceil(self.cost * BILLION) if self.cost is not None else 0,
        }


_NO_FIGURES = Figures()
_NO_PROMPTS = MeasuredPrompts()
_NO_USAGE = Usage()


class ServiceCall(Struct, eq=False):
    """One request to a service, and what is known of its answer."""

    _routed: RoutedRequest
    entry: ModelEntry
    _plan: Plan
    _measured: MeasuredPrompt | None = None
    _framed: Usage | None = None
    is_free: bool = False
    so_far: Assembler | None = None
    reply: Reply | None = None

    def find_usages(self) -> tuple[list[tuple[ModelEntry, Usage]], bool]:
        """Return the tokens by the model that they cost, and whether any of them are estimated."""
        if self.is_free:
            return [], False
        reply, entry = self.reply or self._find_ended(), self.entry
        if reply is not None and _is_plain(reply):
            return [(entry, reply.usage)], False
        if reply is not None and reply.usage.output is not None:
            usage, is_raised = _raise_to_total_and_text(reply.usage, reply.message)
            usage, is_split = _split_thinking(
                usage, reply.message, may_think=self._plan.will_think is not False
            )
            usage, is_guessed = self._raise_thinking(usage, reply.extras)
            is_raised = is_raised or is_guessed
            if usage.total is not None and usage.total != (total := usage.known_total):
                usage = replace(usage, total=total)
            beside = list(_iter_beside_totals(entry, reply.extras)) if reply.extras else []
            if usage.input or usage.cache_read or usage.cache_write:  # no prompt has no tokens
                return [(entry, usage), *beside], is_split or is_raised
            return self._with_added(replace(usage, input=self._prompt(), total=None)), True
        if reply is None and self.so_far is None:  # it has only begun
            if (measured := self._measured) is None:
                self._framed = most = find_framed_bound(self._routed, entry, self._plan)
            else:
                most = None if measured.added else self._find_begun(measured.tokens)
            if most is not None:
                return [(entry, most)], True
        return self._with_added(self._find_most()), True

    def find_priced_usages(self) -> tuple[list[tuple[ModelEntry, Usage]], bool]:
        """Return the same; what no service reported is of the medium that costs most."""
        usages, is_estimated = self.find_usages()
        if not is_estimated:
            return usages, False
        reply, entry = self.reply or self._find_ended(), self.entry
        has_answer = reply is not None and reply.usage.output is not None
        known = reply.usage if reply is not None and has_answer else self._find_reported()
        has_prompt = known.input or known.cache_read or known.cache_write
        if has_answer and has_prompt:
            return usages, True
        media = () if has_prompt else find_prompt_media(self._routed, entry)
        assumed = [
            (
                each,
                assume_media(
                    each.provider.name, each.model, usage, media=media, has_answer=has_answer
                ),
            )
            for each, usage in usages
        ]
        return assumed, True

    def _find_reported(self) -> Usage:
        """Return the counts that the service has reported."""
        so_far = self.so_far
        if self.reply is not None:
            return self.reply.usage
        if so_far is None:
            return _NO_USAGE
        read = so_far.read_usage() if so_far.read_usage is not None else None
        return read or so_far.usage or _NO_USAGE

    def _find_ended(self) -> Reply | None:
        """Return an answer that the service ended, but that was withheld, as by a hook."""
        so_far = self.so_far
        if so_far is None or (end := so_far.finished) is None:
            return None
        if count_answers(self._routed, self.entry) > 1:  # only the end of the first is known
            return None
        return Reply(so_far.message(), end.finish, end.usage, extras=end.extras)

    def _find_begun(self, prompt: int) -> Usage:
        """Return the most that may be served, while nothing is known of the answer."""
        bound = find_output_bound(self._routed, self.entry, self._plan)
        return Usage(prompt, output=bound.output - bound.thinking, thinking=bound.thinking)

    def _raise_thinking(self, usage: Usage, extras: Json) -> tuple[Usage, bool]:
        """Return counts with all tokens that may have been thinking, and whether there were more.

        Some services report more thinking than output, and some only a total, which is then read
        as a prompt: what is above the most that the prompt can have was written.
        """
        reported = extras.get("reported_thinking") if isinstance(extras, dict) else None
        if isinstance(reported, int) and reported > (usage.thinking or 0):
            return replace(usage, thinking=reported), True
        if usage.output or usage.thinking or not usage.input:
            return usage, False
        prompt = self._prompt() + sum(each.input for each in self._measure().added)
        if usage.input <= prompt:
            return usage, False
        return replace(usage, input=prompt, thinking=usage.input - prompt), True

    def _with_added(self, usage: Usage) -> list[tuple[ModelEntry, Usage]]:
        """Return counts and the most that the service's own tools add; a long prompt costs more."""
        every = self._measure().added
        if not every:
            return [(self.entry, usage)]
        own, others = [usage], []
        for each in every:
            added = Usage(each.input, output=each.output)
            if each.entry == self.entry:
                own.append(added)
            else:
                others.append((each.entry, added))
        return [(self.entry, _add_usages(own)), *others]

    def _find_most(self) -> Usage:
        """Return the most that may have been served: counts before the end say only the input."""
        so_far, reply = self.so_far, self.reply
        if reply is None and so_far is None:
            return self._find_begun(self._prompt())
        bound = find_output_bound(self._routed, self.entry, self._plan)
        known, said = self._find_reported(), 0
        if so_far is not None:
            said = len(so_far.message().text) // _LONGEST_TOKEN
        if reply is not None:
            is_all = count_answers(self._routed, self.entry) == 1  # else only the first is known
            if is_all and find_background(self._routed) is None:
                bound = self._limit_by_text(bound, reply.message)
        thinking = max(0, min(bound.thinking, bound.output - said))
        return Usage(
            input=self._prompt() if known.input is None else known.input,
            cache_read=known.cache_read,
            cache_write=known.cache_write,
            output=max(bound.output - thinking, known.output or 0),
            thinking=max(thinking, known.thinking or 0),
            media=known.media,
        )

    def _limit_by_text(self, bound: OutputBound, message: Message) -> OutputBound:
        """Return the bound of a whole answer whose text is known: a token has a byte or more."""
        if bound.thinking and self.entry.capability.shown != "full":
            return bound  # thinking may be hidden
        thought = sum(
            len(part.text.encode()) for part in message.parts if isinstance(part, Thinking)
        )
        written = len(message.text.encode()) + thought
        if message.tool_calls or written >= bound.output:
            return bound
        return OutputBound(written, thought)

    def find_prompt(self) -> int:
        """Return the most tokens of the prompt; that of a known frame was found at its begin."""
        known = None if self._framed is None else self._framed.input
        return find_prompt_bound(self._routed, self.entry) if known is None else known

    def _prompt(self) -> int:
        return self._measure().tokens

    def _measure(self) -> MeasuredPrompt:
        """Return the most of the prompt, measured once: a long one takes milliseconds."""
        if self._measured is None:
            tokens = find_prompt_bound(self._routed, self.entry)
            added = find_added(self._routed, self.entry, tokens)
            self._measured = MeasuredPrompt(tokens, added)
        return self._measured


class UsageMeter:
    """All calls of services for one request; ``begun`` is called when one begins."""

    def __init__(self) -> None:
        self.begun: Callable[[], None] | None = None
        self.calls: list[ServiceCall] = []
        self.extend: Callable[[], Awaitable[None]] | None = None
        self.prompts: MeasuredPrompts = _NO_PROMPTS
        """The prompt as it was measured for each model, if a quota depends on it."""

    async def begin(self, routed: RoutedRequest, entry: ModelEntry, plan: Plan) -> ServiceCall:
        """Begin a call; raises QuotaSpent if earlier ones have used up what was reserved."""
        if self.calls and self.extend is not None and not all(call.is_free for call in self.calls):
            await self.extend()
        call = ServiceCall(routed, entry, plan, self.prompts.get(entry))
        self.calls.append(call)
        if self.begun is not None:
            self.begun()
        return call

    def find_figures(self) -> Figures:
        """Return what all calls took together."""
        if not self.calls:
            return _NO_FIGURES
        if len(self.calls) == 1:  # nearly all requests
            (call,) = self.calls
            usages, estimated = call.find_priced_usages()
            if len(usages) == 1:
                ((entry, usage),) = usages
                cost = price_usage(entry.provider.name, entry.model, usage)
                return Figures(usage=usage, estimated=estimated, cost=cost, calls=1)
        found = [call.find_priced_usages() for call in self.calls]
        usages = [each for several, _ in found for each in several]
        prices = [
            price
            for entry, usage in usages
            if (price := price_usage(entry.provider.name, entry.model, usage)) is not None
        ]
        return Figures(
            usage=_add_usages(usage for _, usage in usages),
            estimated=any(is_estimated for _, is_estimated in found),
            cost=sum(prices, Decimal(0)) if prices else None,
            calls=len(found),
        )

    def find_most(self) -> Figures:
        """Return what all calls take if nothing more becomes known, without a price."""
        found = [call.find_usages()[0] for call in self.calls]
        if len(found) == 1 and len(found[0]) == 1:  # nearly all requests
            ((_, usage),) = found[0]
        else:
            usage = _add_usages(usage for several in found for _, usage in several)
        return Figures(usage=usage, estimated=True, calls=len(self.calls))


class MeteredTransport:
    """A transport that reports every call to a meter; ``call`` is the latest."""

    needs_key = True

    def __init__(
        self,
        transport: AsyncTransport,
        meter: UsageMeter,
        routed: RoutedRequest,
        entry: ModelEntry,
        plan: Plan,
    ) -> None:
        self.call: ServiceCall | None = None
        self.has_head: bool = False
        self.so_far: Assembler | None = None
        """What the next call will collect."""
        self._transport = transport
        self._begin = meter.begin
        self._target = (routed, entry, plan)

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> AsyncResponse:
        """Send a request; a rejected one and one that never left cost nothing."""
        self.has_head = False
        call = self.call = await self._begin(*self._target)
        call.so_far = self.so_far
        try:
            answer = await self._transport.send(request, timeouts)
        except PonderoError as error:
            call.is_free = not isinstance(error, TransportError) or not error.connected
            raise
        call.is_free = not 200 <= answer.head.status < 300
        self.has_head = True
        return answer

    async def aclose(self) -> None:
        """Leave the connections open: other requests share them."""


def _is_plain(reply: Reply) -> bool:
    """Return whether the counts of an answer need no change, as those of nearly all."""
    usage, message, extras = reply.usage, reply.message, reply.extras
    if usage.output is None or not usage.input:
        return False
    if extras and isinstance(extras, dict) and not _CORRECTIONS.isdisjoint(extras):
        return False
    written, said = usage.output + (usage.thinking or 0), len(message.text)
    if not written or written < said // _LONGEST_TOKEN:
        return False
    # With fewer tokens than characters, and no thinking to see, there is none that is hidden.
    if usage.thinking is None and (written > said or message.thinking_parts):
        return False
    return usage.total is None or usage.total == usage.known_total


_CORRECTIONS = frozenset(("reported_thinking", "iterations"))  # of counts, among the extras


def _raise_to_total_and_text(usage: Usage, message: Message) -> tuple[Usage, bool]:
    """Return counts that are no less than their total and the text, and whether they were.

    Tokens that only the total has were thinking, as far as anybody can know.
    """
    rest = (usage.total or 0) - usage.known_total
    if rest > 0:
        usage = replace(usage, thinking=(usage.thinking or 0) + rest)
    said = len(message.text) // _LONGEST_TOKEN
    is_short = (usage.output or 0) + (usage.thinking or 0) < said
    if is_short:
        usage = replace(usage, output=said)
    return usage, rest > 0 or is_short


def _split_thinking(usage: Usage, message: Message, *, may_think: bool) -> tuple[Usage, bool]:
    """Return counts with thinking apart; if the service did not, the most it can have been.

    A token has a byte or more, so an answer with more tokens than bytes has hidden thinking.
    """
    if usage.thinking is not None or not usage.output:
        return usage, False
    thought = bool(message.thinking_parts)
    if not thought and (not may_think or usage.output <= _count_bytes(message)):
        return usage, False
    said = min(usage.output, len(message.text) // _LONGEST_TOKEN)
    return replace(usage, output=said, thinking=usage.output - said), True


def _iter_beside_totals(entry: ModelEntry, extras: Json) -> Iterator[tuple[ModelEntry, Usage]]:
    """Yield the counts of passes that Anthropic's totals leave out: compaction and advisors.

    All others in ``usage.iterations`` are in the totals (SDK 2.8.0 types, recorded exchanges).
    """
    passes = extras.get("iterations") if isinstance(extras, dict) else None
    for each in passes if isinstance(passes, list) else ():
        if isinstance(each, dict) and each.get("type") in ("compaction", "advisor_message"):
            name = each.get("model")  # an advisor's; a summary is the model's own
            model = find_advisor(entry, name) if isinstance(name, str) else entry
            read, cached, written, wrote = (_whole(each.get(name)) for name in _PASS)
            yield model, Usage(read or 0, cached, written, wrote or 0)  # without 0 it has no price


_PASS = (
    *("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    "output_tokens",
)


def _whole(value: Json) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def _count_bytes(message: Message) -> int:
    """Return the bytes of an answer; other parts than texts and calls may be of any size."""
    size = len(message.text.encode("utf-8", "replace"))
    for part in message.parts:
        if isinstance(part, ToolCall):
            size += len(part.name) + len(dump_json(part.arguments)) + _AROUND_CALL
        elif not isinstance(part, Text):
            return _ANY_SIZE
    return size + _AROUND_CALL


def _add_usages(usages: Iterable[Usage]) -> Usage:
    total = _NO_USAGE
    for each in usages:
        if total == _NO_USAGE:
            total = each
        elif each != _NO_USAGE:
            total = Usage(
                input=_add(total.input, each.input),
                cache_read=_add(total.cache_read, each.cache_read),
                cache_write=_add(total.cache_write, each.cache_write),
                output=_add(total.output, each.output),
                thinking=_add(total.thinking, each.thinking),
                media=add_media(total.media, each.media),
            )
    return total


def _add(first: int | None, second: int | None) -> int | None:
    known = [count for count in (first, second) if count is not None]
    return sum(known) if known else None
