"""What a dialect is: a record of functions for each of its two sides.

The caller's side turns our requests into the wire's and its answers into events. The service's
side is the other end: it reads requests and writes answers, for the emulator and the contract
kit. The gateway and ``client/apply_dial`` (for ``pondero.sdk``) read other programs' requests with
it, leniently. The two are written apart and must agree, so neither imports the other.

A side's package ends in ``CALLER = Caller(...)`` or ``SERVICE = Service(...)``: that line is where
mypy checks every signature.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Literal, Protocol, TypeVar

from msgspec import Struct

from ..canon import (
    Event,
    HttpRequest,
    HttpResponse,
    Json,
    Message,
    Part,
    ReplayRules,
    Reply,
    Request,
    ResponseHead,
    SavedRepair,
    Target,
)
from ..errors import ServiceError
from ..thinking import UNSET, Adjustment, Capability, Intent, Plan

Quirks = Mapping[str, Json]
"""What one deployment does differently, from its file in the catalog."""

C = TypeVar("C")
"""Request data that a dialect needs again when it writes the answer."""


# -- the caller's side ---------------------------------------------------------------------------


class AnswerContext(Struct, frozen=True):
    """The model that was asked and its deployment, which an answer itself does not name.

    Seals name both. ``quirks`` are the deployment's.
    """

    model: str | None = None
    route: str | None = None
    quirks: Quirks = {}


class EventStream(Protocol):
    """The decoder of one streamed answer: bytes in, events out; it owns no socket."""

    def feed(self, data: bytes) -> list[Event]:
        """Return the events that these bytes complete; they may be split anywhere."""
        ...

    def eof(self) -> list[Event]:
        """Return the last events; raises Truncated where the answer was cut."""
        ...


class MatchScore(Protocol):
    """A function that says how likely a piece of JSON is an answer of this wire."""

    def __call__(self, raw: Json, *, stream: bool) -> int:
        """Return 0 to 100 for a body or, with ``stream``, for the first object of a stream."""
        ...


class Repair(Struct, frozen=True):
    """A refused request, changed as the refusal says it would be taken, and the one difference.

    ``cure`` is what was done, so that ``Caller.reapply_repair`` can do it again before the next
    request. ``holds_for`` is how long to keep applying the repair: for this request, for this
    thread, or for every request to this model. ``leave_unsigned`` are the seals it took out, as
    they stood on the wire.
    """

    request: HttpRequest
    adjustment: Adjustment
    cure: SavedRepair
    holds_for: Literal["request", "thread", "model"] = "request"
    unsealed: tuple[str, ...] = ()


class EarlierAnswer(Struct, frozen=True):
    """An answer that came before a request.

    ``number`` counts the exchange it ended, ``provider`` and ``model`` gave it, and
    ``request_body`` is the body it answered.
    """

    number: int
    provider: str | None
    model: str | None
    request_body: Json
    message: Message


class EarlierAnswers(Protocol):
    """The answers that came before a request, found by what the request sends back of them."""

    def by_call_id(self, id: str) -> EarlierAnswer | None:
        """Return the answer that made a call with this id."""
        ...

    def by_call(self, name: str, arguments: Json) -> Sequence[EarlierAnswer]:
        """Return the answers with this very call, where the service gives no ids."""
        ...

    def by_signature(self, text: str) -> EarlierAnswer | None:
        """Return the answer that has a seal with this text in it."""
        ...


class SentRequest(Struct, frozen=True, kw_only=True):
    """A request that was sent, what the catalog knows about the model, and the earlier answers.

    ``known`` is whether the catalog has the deployment; one that it does not have may be laxer.
    """

    body: dict[str, Json]
    past: EarlierAnswers
    provider: str | None = None
    known: bool = True
    facts: Capability
    quirks: Quirks = {}


class ReplayIssue(Struct, frozen=True, kw_only=True):
    """A place in a request that makes the service refuse it or silently drop thinking.

    ``refused`` says which of the two. ``path`` is the place in the body, ``what`` is wrong there,
    ``then`` is what the service does about it, and ``cure`` what to do instead.
    """

    code: str
    path: str
    what: str
    then: str
    cure: str
    refused: bool = True


class ReplayChecks(Struct, frozen=True, kw_only=True):
    """What ``pondero guard`` checks in a request that sends a conversation back.

    - ``find_issues`` finds the places that the service rejects, or where thinking is lost.
    - ``has_history`` returns whether a body sends back earlier answers.
    """

    find_issues: Callable[[SentRequest], list[ReplayIssue]]
    has_history: Callable[[Mapping[str, Json]], bool]


class NoQuirks(Struct, frozen=True):
    """The quirks of a wire whose deployments are all alike."""


class Caller(Struct, frozen=True, kw_only=True):
    """What a caller does with an API.

    - ``encode`` writes our request, with the plan's fields, as an HTTP request to the target.
    - ``decode`` reads a whole answer into the events that a stream would give.
    - ``stream`` returns the decoder of one streamed answer.
    - ``error`` reads an error answer; HTML and an empty body are errors too.
    - ``match_score`` says how likely a piece of JSON is an answer of this API.
    - ``replay_rules`` says what a deployment with these quirks takes back of a conversation.
    - ``repair`` changes a rejected request as the rejection suggests, or returns None.
    - ``quirks`` is the type of the table ``[quirks]`` of a deployment.
    - ``reapply_repair`` makes a saved repair again, before the service rejects the request.
    - ``count_request`` turns a request into one that only counts its tokens.
    - ``count_field`` is the field with the number, in the answer to such a request.
    - ``unsupported_parameters`` are parameters that the API lacks: omitted, with a note.
    - ``signing_name`` is the service's name in requests that are signed instead of using a key.
    - ``hosted_tools`` are the tools that services of this API run themselves, by kind, as a
      request offers them; the catalog says which deployment has which.
    - ``needs_cache_breakpoints`` returns whether a model caches only up to breakpoints in the
      request.
    """

    encode: Callable[[Request, Plan, Target], HttpRequest]
    decode: Callable[[ResponseHead, bytes, AnswerContext], list[Event]]
    stream: Callable[[ResponseHead, AnswerContext], EventStream]
    error: Callable[[ResponseHead, bytes], ServiceError]
    match_score: MatchScore
    replay_rules: Callable[[Quirks], ReplayRules]
    repair: Callable[[HttpRequest, ServiceError], Repair | None] | None = None
    quirks: type[Struct] = NoQuirks
    reapply_repair: Callable[[HttpRequest, SavedRepair], Repair | None] | None = None
    count_request: Callable[[HttpRequest], HttpRequest] | None = None
    count_field: str = ""
    unsupported_parameters: frozenset[str] = frozenset()
    signing_name: str | None = None
    hosted_tools: Mapping[str, Json] = {}
    needs_cache_breakpoints: Callable[[str, Quirks], bool] | None = None


# -- the service's side --------------------------------------------------------------------------


class Rejected(Exception):
    """The service's own refusal: status, headers and body as it would send them."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__(f"{response.status}: {response.body.decode('utf-8', 'replace')}")
        self.response = response


class Signer(Protocol):
    """A function that fills the opaque slot (a signature, say) of a part of one answer.

    ``shown`` is the text the part is sent with, ``before`` the wire's blocks that stand before it
    in the same answer: some signatures cover them. None leaves the slot empty.
    """

    def __call__(self, part: Part, shown: str, before: Sequence[Json], /) -> Json | None:
        """Return the wire's value for the slot."""
        ...


def leave_unsigned(_part: Part, _shown: str, _before: Sequence[Json], /) -> Json | None:
    """Leave every opaque slot empty."""
    return None


class ParsedRequest(Struct, Generic[C], frozen=True, kw_only=True):
    """A request as its wire means it, with none of the service's rules applied.

    ``show`` is whether readable thinking was asked for, None where the request does not say.
    ``unknown`` are the paths of fields that this wire does not have; they were passed over.
    """

    request: Request
    intent: Intent = UNSET
    show: bool | None = None
    unknown: tuple[str, ...] = ()
    context: C


class ReplyContext(Struct, Generic[C], frozen=True, kw_only=True):
    """All that is needed to write an answer: the request, and how its answer is to look.

    ``context`` is the data of the request that the answer repeats. ``sign`` fills its opaque
    slots, its ids are made from ``seed``, and ``shown`` is whether readable thinking goes into it.
    ``refuses`` says that the answer is going to be a refusal, which some wires announce at the
    start. ``place`` is where thinking goes on a wire that has several places for it, by the wire's
    own names for them; None is its usual one.
    """

    request: Request
    context: C
    sign: Signer = leave_unsigned
    seed: bytes = b""
    shown: bool = False
    refuses: bool = False
    place: str | None = None


class AcceptedRequest(ReplyContext[C], Generic[C], frozen=True, kw_only=True):
    """A request that the service's rules let pass; its answer is signed by the emulated service.

    ``thinks`` is whether this model will think, given ``intent``, and ``default`` the level at
    which it does where the request does not say. ``caches`` is which prefixes of a prompt the
    service's cache serves: none, those that the request marks, or all.
    """

    intent: Intent = UNSET
    thinks: bool = False
    default: str | None = None
    caches: Literal["never", "marked", "always"] = "never"


class ByteStream(Protocol):
    """Events in, bytes out: the service's side of a stream."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the headers this stream is sent with."""
        ...

    def feed(self, event: Event) -> bytes:
        """Return the bytes of this event; an event that the wire does not have gives none."""
        ...

    def eof(self) -> bytes:
        """Return the bytes that end the stream."""
        ...

    def fail(self, error: HttpResponse) -> bytes:
        """Return the bytes that report an error in the middle of a stream; they end it."""
        ...


TOO_LONG = "context_length_exceeded"
"""The code of a prompt that is too long, on every wire: each has its own words for it."""


class ErrorShape(Protocol):
    """A function that writes an error as the service does."""

    def __call__(
        self, status: int, message: str, *, code: str | None, retry_after: float | None
    ) -> HttpResponse:
        """Return an error of this status."""
        ...


class ServedModel(Struct, frozen=True):
    """A model on a list; ``context`` is how many tokens it can read, ``max_output`` write.

    ``levels`` are those of its dial, the weakest first, ``default`` the one it has unasked;
    ``media`` are prefixes of the media types it takes, None where that is not known.
    """

    name: str
    context: int | None = None
    max_output: int | None = None
    levels: tuple[str, ...] = ()
    default: str | None = None
    media: tuple[str, ...] | None = None
    owner: str = ""

    @property
    def thinks(self) -> bool:
        """Return whether it can be asked to think."""
        return any(level != "off" for level in self.levels)

    @property
    def sees(self) -> bool:
        """Return whether it takes pictures, as most do of which nothing is known."""
        return self.media is None or any(each.startswith("image") for each in self.media)


class ModelEndpoints(Struct, frozen=True, kw_only=True):
    """What a service answers beside conversations: lists of models, and counts of tokens.

    - ``classify`` returns which of the two a request is for, or None.
    - ``write_list`` answers with a provider's list of models, or raises Rejected.
    - ``requested_model`` returns the one model that a request asks about; None where it asks for
    the list.
    - ``write_any_list`` answers with a list of any models, or with the one that is named: whatever
    they are called, and whoever asks. Gateways use it. - ``parse_count`` turns a request to count
    tokens into the usual request whose tokens are counted.
    - ``count_field`` answers with their number, in the service's shape.
    """

    classify: Callable[[HttpRequest], Literal["models", "tokens"] | None]
    write_list: Callable[[HttpRequest, Sequence[ServedModel], str], HttpResponse]
    requested_model: Callable[[HttpRequest], str | None]
    write_any_list: Callable[[HttpRequest, Sequence[ServedModel]], HttpResponse]
    parse_count: Callable[[HttpRequest], HttpRequest] | None = None
    write_count: Callable[[int], HttpResponse] | None = None


class StoredResponses(Struct, frozen=True, kw_only=True):
    """How a service goes on from an answer that it stored, without the conversation sent again.

    - ``requested_model`` returns the id of the stored answer that a request goes on from.
    - ``stored_id`` returns the id under which an answer is stored; None where it is not.
    - ``resume`` returns the request with the stored request and its answer put before its own.
    """

    previous_id: Callable[[HttpRequest], str | None]
    stored_id: Callable[[ReplyContext[Json]], str | None]
    resume: Callable[[HttpRequest, HttpRequest, HttpResponse], HttpRequest]


class SignatureSlots(Struct, frozen=True, kw_only=True):
    """Where a client of this wire keeps opaque text and gives it back; the gateway uses it.

    - ``thinking``: with a part of thinking, even where it has no text.
    - ``call``: with a tool call, written when the call begins or when it ends.
    - ``text``: with a text, written when it begins.
    - ``trailing_thinking``: with a part of thinking behind all others too.
    - ``may_lose_thinking``: clients may give back a slot without the thinking that stood beside it.
    """

    thinking: bool = False
    call: Literal["start", "end"] | None = None
    text: bool = False
    trailing_thinking: bool = False
    may_lose_thinking: bool = False


class PassthroughRules(Struct, frozen=True, kw_only=True):
    """What a gateway must know of a wire to let requests and answers pass as they are.

    - ``model_at`` are the places where an answer, or a frame of a stream, names the model.
    - ``headers`` are those of a request that mean something to the service.
    - ``added_fields`` are fields that are added where a body has none: counts, or a required cap.
    """

    model_at: tuple[tuple[str, ...], ...] = ()
    headers: tuple[str, ...] = ()
    added_fields: tuple[str, ...] = ()


class Service(Struct, Generic[C], frozen=True, kw_only=True):
    """What a service does with a wire.

    - ``default_provider`` is the provider that is meant where none is named.
    - ``matches_path`` returns whether an address with this path belongs to the wire.
    - ``requested_model`` returns the model that a request names, in its body or its address.
    - ``with_model`` returns the request for another model.
    - ``parse`` reads a request leniently: no rules, and unknown fields are listed, not refused.
    - ``accept`` reads it as the provider of that name would: strictly; it raises Rejected.
    - ``reply`` writes a whole answer.
    - ``stream`` returns the writer of a streamed answer.
    - ``error`` writes an error in the service's shape.
    - ``call_id`` makes a tool call's id, as the service writes ids, of 32 hexadecimal digits.
    - ``restate_error`` puts an error into one provider's shape, where those of a wire differ.
    - ``models`` answers requests for lists of models and counts of tokens, if it has them.
    - ``stored_responses`` goes on from stored answers, where the service stores any.
    - ``filter_reasons`` are the wire's words for an answer that a filter withheld.
    - ``bad_key_errors`` are pairs of status and code that mean a refused key on this wire alone.
    - ``own_headers`` are headers that only callers of this wire send.
    - ``shows_thinking`` is whether thinking is shown where a request does not say.
    - ``ping`` is what a stream says in a long silence; empty where the wire has no such thing.
    - ``overloaded_status`` is the status that callers of this wire know for a busy service.
    - ``passthrough`` is what a gateway needs where both of its sides speak this wire.
    - ``slots`` are the places where its clients keep opaque text.
    """

    default_provider: str
    matches_path: Callable[[str], bool]
    requested_model: Callable[[HttpRequest], str | None]
    with_model: Callable[[HttpRequest, str], HttpRequest]
    parse: Callable[[HttpRequest], ParsedRequest[C]]
    accept: Callable[[HttpRequest, str], AcceptedRequest[C]]
    reply: Callable[[ReplyContext[C], Reply], HttpResponse]
    stream: Callable[[ReplyContext[C]], ByteStream]
    error: ErrorShape
    call_id: Callable[[str], str]
    restate_error: Callable[[HttpResponse, str], HttpResponse] | None = None
    models: ModelEndpoints | None = None
    stored_responses: StoredResponses | None = None
    filter_reasons: tuple[str | None, ...] = (None,)
    bad_key_errors: tuple[tuple[int, str], ...] = ()
    own_headers: frozenset[str] = frozenset()
    shows_thinking: bool = True
    ping: bytes = b": ping\n\n"
    overloaded_status: int = 503
    passthrough: PassthroughRules = PassthroughRules()
    slots: SignatureSlots = SignatureSlots()


# -- both ----------------------------------------------------------------------------------------


class Dialect(Struct, frozen=True):
    """A wire format by its name; each side is imported when it is first asked for."""

    name: str
    caller: Callable[[], Caller]
    service: Callable[[], Service[Json]]
    replay_checks: Callable[[], ReplayChecks]
