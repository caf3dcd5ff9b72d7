"""Answers one conversation: reads it, asks the models of its route in turn, writes the answer.

``app`` calls ``answer``. Before the first byte to the client, a model that fails is tried again and
then the next one is asked; after it, trouble is told in the front's own way inside the stream.
"""

from asyncio import CancelledError
from functools import cached_property, partial
from time import monotonic

from ...canon import AdjustmentNote, Event, Json, Reply
from ...catalog import ModelEntry
from ...dialects import Rejected, get_dialect
from ...errors import Overloaded, PonderoError
from ...exchange import Emit, flow, is_deployment_fault, is_fallback_error
from ...transport import AsyncShell
from ..observability.receipt import Receipt
from ..quotas.admission import Admission, admit
from ..server.context import GatewayContext
from ..signatures.restore import cache_items
from ..state.answer_cache import CachedAnswer
from ..state.breakers import REST
from .attempt import Attempt, job_for
from .errors import add_headers_to_error, failure
from .passthrough import CapturingTransport, ModelRenamer, Places, headers_back, parse_passed_answer
from .response_writer import ResponseWriter
from .routed_request import ClientRequest, RoutedRequest, read_question
from .translation import Translation, make_reply_context

_LONGEST_HEADER = 2_000
_EVENTS = {"content-type": "text/event-stream"}


class _Progress:
    """How far an answer has come, for its receipt."""

    def __init__(self, gate: GatewayContext, call: ClientRequest) -> None:
        self._begun = monotonic()
        self._gate = gate
        self._known: dict[str, Json] = {
            "id": call.id,
            "at": gate.now(),
            "key": call.who.name,
            "front": call.client_dialect,
            "trace": call.http.headers.get("traceparent"),
        }
        self.said = ""
        self.tries = 0
        self.admission: Admission | None = None

    def note(self, **what: Json) -> None:
        """Keep what the receipt is to say."""
        self._known |= what

    def first(self) -> None:
        self._known.setdefault("first", monotonic() - self._begun)

    def tell(self) -> None:
        seconds = monotonic() - self._begun
        receipt = Receipt(**self._known, said=self.said, tries=self.tries, seconds=seconds)
        self._gate.tell(receipt)
        if self.admission is not None:
            self.admission.settle(receipt)


async def answer(gate: GatewayContext, call: ClientRequest, outlet: ResponseWriter) -> None:
    """Answer a conversation; whatever goes wrong is told in the front's own shape."""
    service = get_dialect(call.client_dialect).service()
    progress = _Progress(gate, call)
    try:
        question = await read_question(gate, call, service)
        request = question.parsed.request
        progress.said = request.model
        progress.note(stream=request.stream)
        progress.admission = await admit(gate, question)
        await _ask_in_turn(gate, question, outlet, progress)
    except (PonderoError, Rejected) as error:
        response = add_headers_to_error(
            failure(error, call.client_dialect, service), {"x-pondero-id": call.id}
        )
        progress.said = progress.said or service.requested_model(call.http) or ""
        progress.note(status=response.status, end="refused")
        await outlet.whole(response)
    except CancelledError:
        progress.note(end="left")
        raise
    finally:
        progress.tell()


async def _ask_in_turn(
    gate: GatewayContext, question: RoutedRequest, outlet: ResponseWriter, progress: _Progress
) -> None:
    failed: PonderoError | None = None
    entry: ModelEntry | None = None
    for entry in gate.order(question.resolved.entries, question.request.messages):
        if await gate.breakers.is_open(entry.id):
            resting = f"{entry.id} is resting after failures"
            failed = failed or Overloaded(resting, status=503, retry_after=REST)
            continue
        progress.note(provider=entry.provider.name, model=entry.model)
        try:
            job = job_for(gate, question, entry)
            await _Asking(gate, question, job, outlet, progress).run()
        except PonderoError as error:
            failed = error
            if is_deployment_fault(error):
                await gate.breakers.record_failure(entry.id)
            if outlet.ended:
                return
            if not is_fallback_error(error):
                break
        except CancelledError:
            await gate.breakers.cancel_probe(entry.id)
            raise
        else:
            await gate.breakers.went_well(entry.id)
            return
    if failed is None:
        raise Overloaded("no model is there to answer", status=503)
    await _tell_failure(failed, question, entry, outlet, progress)


async def _tell_failure(
    error: PonderoError,
    question: RoutedRequest,
    entry: ModelEntry | None,
    outlet: ResponseWriter,
    progress: _Progress,
) -> None:
    call = question.call
    response = failure(error, call.client_dialect, question.service, entry)
    progress.note(status=response.status, end="failed")
    if not outlet.begun:
        await outlet.whole(add_headers_to_error(response, {"x-pondero-id": call.id}))
        return
    # A sign of life was sent, and nothing else: the stream has begun.
    writer = question.service.stream(
        make_reply_context(question.service, question.parsed, id=call.id)
    )
    await outlet.write(writer.fail(response))
    await outlet.end()


# -- one model ------------------------------------------------------------------------------------


class _Asking:
    """Asks one model and writes its answer."""

    def __init__(
        self,
        gate: GatewayContext,
        question: RoutedRequest,
        job: Attempt,
        outlet: ResponseWriter,
        progress: _Progress,
    ) -> None:
        self._gate = gate
        self._question = question
        self._job = job
        self._outlet = outlet
        self._progress = progress
        self._tap = CapturingTransport(gate.transport_for(job.exchange)) if job.passes else None
        self._notes: list[str] = []

    @cached_property
    def _translation(self) -> Translation:
        """Return the writer of the front's own bytes; a passing stream needs it to fail alone."""
        question, route = self._question, self._question.resolved.route
        place = question.call.http.headers.get("x-pondero-show") or (route.show if route else None)
        origin = self._job.exchange.origin
        return Translation(
            question.service, question.parsed, origin, id=question.call.id, place=place
        )

    async def run(self) -> None:
        """Ask, and write; raises where nothing was written yet, and where it broke off."""
        gate, job = self._gate, self._job
        exchange, stream = job.exchange, self._question.parsed.request.stream
        plan = exchange.plan
        self._progress.note(
            road="passed" if job.passes else "translated",
            asked=job.decided.requested,
            sent=str(plan.level if plan.budget is None else plan.budget),
            why=job.decided.why,
            adjustments=tuple(note.code for note in plan.adjustments),
        )
        self._progress.tries += 1
        steps = flow(
            exchange,
            retry=gate.retry(self._question.resolved.route),
            jitter=gate.jitter,
            learn=partial(gate.learn, exchange),
        )
        waits = gate.timeouts if stream else gate.timeouts.whole()
        shell = AsyncShell(steps, self._tap or gate.transport_for(exchange), waits)
        try:
            await (self._stream(shell) if stream else self._whole(shell))
        finally:
            await shell.aclose()

    async def _whole(self, shell: AsyncShell) -> None:
        while isinstance(step := await shell.next(), Emit):
            self._note(step.events)
        if self._tap is not None:
            body = await self._tap.rest()
            places = self._question.service.passthrough.model_at
            response = parse_passed_answer(
                self._tap, body, places, self._question.parsed.request.model
            )
        else:
            response = self._translation.whole(step)
        await self._remember(step)
        self._progress.first()
        self._over(step)
        await self._outlet.whole(add_headers_to_error(response, self._headers()))

    async def _stream(self, shell: AsyncShell) -> None:
        outlet = self._outlet
        road = self._translation if self._tap is None else self._passage(self._tap)
        headers = _EVENTS if self._tap else self._translation.headers
        ping = self._question.service.ping if "event-stream" in headers["content-type"] else b""
        outlet.streams(headers, ping)
        wrote = False
        try:
            while isinstance(step := await shell.next(), Emit):
                if not wrote:
                    wrote = True
                    self._note(step.events)
                    self._progress.first()
                    if not outlet.begun:
                        outlet.streams({**road.headers, **self._headers()}, ping)
                if self._progress.admission is not None:
                    self._progress.admission.feed(step.events)
                data, step = road.feed(step.events), None  # a stream that waits keeps no events
                await outlet.write(data)
                del data
            await outlet.write(await road.end())
        except PonderoError as error:
            if wrote:
                await self._break_off(error)
            raise
        await self._remember(step)
        self._over(step)
        await outlet.end()

    def _passage(self, tap: CapturingTransport) -> "_Passage":
        question = self._question
        return _Passage(tap, question.service.passthrough.model_at, question.parsed.request.model)

    async def _break_off(self, error: PonderoError) -> None:
        """Tell in the stream that the answer ends here."""
        question = self._question
        response = failure(error, question.call.client_dialect, question.service, self._job.entry)
        self._progress.note(status=response.status, end="failed")
        await self._outlet.write(self._translation.fail(response))
        await self._outlet.end()

    def _note(self, events: list[Event]) -> None:
        codes = [event.adjustment["code"] for event in events if isinstance(event, AdjustmentNote)]
        self._notes += codes

    def _headers(self) -> dict[str, str]:
        """Return what the answer's headers say of what was done."""
        job = self._job
        plan = job.exchange.plan
        made = [f"{note.code}:{note.what}" for note in plan.adjustments]
        headers = {
            "x-pondero-id": self._question.call.id,
            "x-pondero-model": job.entry.id,
            "x-pondero-thinking": job.decided.header(plan),
        }
        if said := ", ".join(dict.fromkeys([*made, *self._notes])):
            headers["x-pondero-adjustments"] = said[:_LONGEST_HEADER]
        return headers

    async def _remember(self, reply: Reply) -> None:
        """Keep what the client may lose of this answer; the next request may come at once."""
        question, call = self._question, self._question.call
        if self._tap is None:
            record = self._translation.carrier.record
        else:
            message = reply.message
            ids = tuple(each.id for each in message.tool_calls)
            record = CachedAnswer(call.id, message, ids, message.text)
        asked, turns = question.parsed.request, question.turns
        items = cache_items(asked, record, client=call.who.id, turns=turns)
        await self._gate.memory.put(items)

    def _over(self, reply: Reply) -> None:
        if self._progress.admission is not None:
            self._progress.admission.finish(reply)
        self._progress.note(
            finish=reply.finish,
            verdict=reply.verdict,
            usage=reply.usage,
            adjustments=tuple(note.code for note in reply.adjustments),
        )


class _Passage:
    """A stream that passes as it comes, under the name that the client asked for."""

    def __init__(self, tap: CapturingTransport, places: Places, model: str) -> None:
        self._tap = tap
        self._places = places
        self._model = model
        self._renaming: ModelRenamer | None = None

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of the answer that passes."""
        return headers_back(self._tap.head)

    def feed(self, _events: list[Event]) -> bytes:
        """Return what came meanwhile."""
        if self._renaming is None:
            kind = self._tap.head.headers.get("content-type", "")
            self._renaming = ModelRenamer(self._places, self._model, kind)
        return self._renaming.feed(self._tap.take())

    async def end(self) -> bytes:
        """Return what comes behind the answer's end."""
        rest = self.feed([])
        if self._renaming is None:
            return rest
        return rest + self._renaming.feed(await self._tap.rest()) + self._renaming.eof()
