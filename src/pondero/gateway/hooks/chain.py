"""The hooks of one request: what they change on the way in, and of the answer on the way out.

Requests pass the hooks in the order of the configuration, answers in the reverse order, so that
each hook sees the answer to the request that it let pass.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NoReturn, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ...canon import (
    Assembler,
    Event,
    Finished,
    Message,
    Part,
    Reply,
    Request,
    Thinking,
    Usage,
    iter_events,
)
from ...dialects import get_dialect
from .bounded_call import FAILED, BoundedHook, HookFailure, HookRejection
from .changed_request import read_changed_request
from .copies import copy_event, copy_notes, copy_reply, copy_request
from .interface import HookCall, Reject
from .results import WrongResult, read_given_events, read_given_reply
from .shown_parts import ShownParts

T = TypeVar("T")

_STATUSES = range(400, 500)

NOTHING_USED = Usage(input=0, output=0, thinking=0, total=0)
"""The counts of an answer for which no service was asked."""


class HookedRequest(Struct, frozen=True, kw_only=True):
    """A request after its hooks; ``calls``: those hooks in order, each with the request it got.

    ``answer``: one that the hook ``by`` gave. ``failed``: the hooks without which it went on.
    """

    request: Request
    calls: tuple[tuple[BoundedHook, HookCall], ...]
    is_changed: bool = False
    answer: Reply | None = None
    by: str | None = None
    failed: tuple[str, ...] = ()

    @property
    def reads_answers(self) -> bool:
        """Return whether a hook sees the answer."""
        return any(hook.reads_answers for hook, _ in self.calls)

    @property
    def has_guard(self) -> bool:
        """Return whether a hook has read the request so that nothing else is sent."""
        return any(hook.reads_requests and hook.hook.sees_all for hook, _ in self.calls)

    @property
    def writes_answer(self) -> bool:
        """Return whether the client's answer is not the model's own."""
        return self.answer is not None or any(hook.hook.changes_answers for hook, _ in self.calls)


async def ask_hooks(
    hooks: Sequence[BoundedHook], call: HookCall, *, is_single: bool = True
) -> HookedRequest:
    """Give a request to its hooks, in order; raises HookRejection.

    An answer of one hook is seen by those before it, and no model or further hook is asked. If the
    request is for several answers or their log probabilities (not ``is_single``), a model is asked
    in place of a hook that a request may miss.
    """
    request, failed = call.request, []
    calls: list[tuple[BoundedHook, HookCall]] = []
    for hook in hooks:
        own = replace(call, request=copy_request(request), notes={})
        try:
            result = await _ask(hook, own, request) if hook.reads_requests else request
        except HookFailure as error:
            failed.append(_go_on(hook, error))
            continue
        if isinstance(result, Reply) and not (is_single or hook.hook.sees_all):
            result = request
        if isinstance(result, Reply):
            return HookedRequest(
                request=request,
                calls=tuple(calls),
                answer=result,
                by=hook.name,
                failed=tuple(failed),
            )
        calls.append((hook, own))
        request = result
    return HookedRequest(
        request=request,
        calls=tuple(calls),
        is_changed=request is not call.request,
        failed=tuple(failed),
    )


async def _ask(hook: BoundedHook, call: HookCall, request: Request) -> Request | Reply:
    """Return the request or the answer of one hook; raises HookFailure and HookRejection.

    ``call`` has a copy of the request, into which the hook may have written.
    """
    (result,) = await hook.call(call.client, "on_request", (call,))

    def read() -> Request | Reply | Reject | None:
        if isinstance(result, Request):
            return read_changed_request(request, result, get_dialect(call.client_api).service())
        return read_given_reply(result)

    answer = _read(hook, read)
    if isinstance(answer, Reject):
        _stop(hook, answer)
    if isinstance(answer, Reply):
        return _strip(answer)
    return request if answer is None else answer


def _read(hook: BoundedHook, read: Callable[[], T]) -> T:
    """Return a hook's result as it was read; raises HookFailure."""
    try:
        return read()
    except WrongResult as error:
        hook.fail(str(error))
    except BaseException:  # noqa: BLE001 - code of the result itself, which may raise anything
        hook.fail("returned something that cannot be read")


def _strip(reply: Reply) -> Reply:
    """Return a hook's answer without thinking, which no service signed for this conversation."""
    parts = [part for part in reply.message.parts if not isinstance(part, Thinking)]
    plain = tuple(replace(each, signature=None) if _is_signed(each) else each for each in parts)
    usage = NOTHING_USED if reply.usage == Usage() else reply.usage
    return replace(reply, message=Message("assistant", plain), usage=usage)


def _is_signed(part: Part) -> bool:
    return getattr(part, "signature", None) is not None


def _go_on(hook: BoundedHook, error: HookFailure) -> str:
    """Return the name of a hook without which the request goes on; raises HookRejection."""
    if hook.config.on_failure == "reject":
        raise HookRejection(str(error), status=503) from None
    return hook.name


def _stop(hook: BoundedHook, reject: Reject) -> NoReturn:
    status = reject.status if reject.status in _STATUSES else 403
    message = reject.message or f"the hook {hook.name!r} rejected it"
    rejection = HookRejection(message, status=status)
    rejection.hook = hook.name
    raise rejection


class HookedAnswer:
    """Passes one answer through the hooks of its request."""

    def __init__(self, hooked: HookedRequest) -> None:
        self._failed = hooked.failed
        self._layers = [
            _Layer(hook, replace(call, notes=copy_notes(call.notes)))
            for hook, call in reversed(hooked.calls)
            if hook.reads_answers
        ]

    @property
    def failed(self) -> tuple[str, ...]:
        """Return the hooks without which the request or the answer went on."""
        return (*self._failed, *(layer.hook.name for layer in self._layers if layer.is_off))

    async def feed(self, events: list[Event]) -> list[Event]:
        """Return the events in place of these; raises HookRejection."""
        for layer in self._layers:
            events = await layer.feed(events)
        return events

    async def whole(self, reply: Reply) -> Reply:
        """Return the answer in place of this one; raises HookRejection."""
        assembler = Assembler()
        assembler.extend(await self.feed(list(iter_events(reply))))
        return _build(reply, assembler)


class _Layer:
    """One hook and one answer."""

    def __init__(self, hook: BoundedHook, call: HookCall) -> None:
        self.hook = hook
        self.is_off = False
        self._call = call
        self._held: list[Event] = []
        self._so_far = Assembler()
        self._shown = ShownParts()

    async def feed(self, events: list[Event]) -> list[Event]:
        if self.is_off:
            return events
        try:
            if self.hook.reads_events:
                events = await self._show(events)
            if not self.hook.reads_replies:
                return events
            return await self._add(events)
        except HookFailure as error:
            if self.hook.hook.changes_answers:  # it may have held back a part of the answer
                raise HookRejection(str(error), status=503) from None
            _go_on(self.hook, error)
            self.is_off = True
            return events

    async def _show(self, events: list[Event]) -> list[Event]:
        """Give events to ``on_event``."""
        arguments = [(self._call, copy_event(event)) for event in events]
        results = await self.hook.call(self._call.client, "on_event", *arguments)
        shown: list[Event] = []
        for event, result in zip(events, results, strict=True):
            read = _read(self.hook, partial(read_given_events, result, event))
            if isinstance(read, Reject):
                _stop(self.hook, read)
            if self.hook.hook.changes_answers:
                shown += _read(self.hook, partial(self._shown.feed, event, read))
        return shown if self.hook.hook.changes_answers else events

    async def _add(self, events: list[Event]) -> list[Event]:
        """Collect events; at the end give the answer to ``on_reply``."""
        self._so_far.extend(events)
        if self.hook.holds_streams:
            self._held += events
            events = []
        if (finished := self._so_far.finished) is None:
            return events
        reply = _make_reply(self._so_far, finished)
        (result,) = await self.hook.call(
            self._call.client, "on_reply", (self._call, copy_reply(reply))
        )
        read = _read(self.hook, partial(read_given_reply, result))
        if isinstance(read, Reject):
            _stop(self.hook, read)
        if not self.hook.holds_streams:
            return events
        held, self._held = self._held, []
        return held if read is None else list(iter_events(replace(read, usage=reply.usage)))


def _make_reply(assembler: Assembler, end: Finished) -> Reply:
    return Reply(
        assembler.message(),
        end.finish,
        end.usage,
        raw_finish=end.raw_finish,
        model=end.model,
        grounding=end.grounding,
        safety=end.safety,
        extras=end.extras,
    )


def _build(reply: Reply, assembler: Assembler) -> Reply:
    """Return a reply with what its hooks made of it; its counts stay."""
    reply = replace(reply, message=assembler.message(reply.message.origin))
    if (end := assembler.finished) is None:
        return reply
    return replace(
        reply,
        finish=end.finish,
        raw_finish=end.raw_finish,
        model=end.model,
        grounding=end.grounding,
        safety=end.safety,
        extras=end.extras,
    )


def note_failures(names: Iterable[str]) -> list[str]:
    """Return the adjustments for hooks that failed, as headers show them."""
    return [f"{FAILED}:{name}" for name in names]
