"""A dialect: one record of functions for each of its two sides, which never import each other.

The caller's side writes our requests and reads answers. The service's side does the reverse, for
the emulator, the contract kit, the gateway and ``pondero.sdk``.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar
from urllib.parse import quote

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
    Signature,
    Target,
)
from ..errors import ServiceError
from ..thinking import UNSET, Adjustment, Capability, Intent, Plan
from .answer_fields import AnswerFields
from .conversation_marks import ConversationMarks
from .hosted_parts import Told
from .level_turns import LevelTurns
from .media_rules import MediaRules
from .portability import Portability
from .prompt_cache import CacheReport, PromptPrefix
from .rate_limits import RateLimitHeaders
from .schema_rules import HOST_PLAIN, OutputSupport, ToolRules
from .turn_forms import TurnForm

if TYPE_CHECKING:
    from .kept_responses import KeptResponses

Quirks = Mapping[str, Json]
"""The differences of one deployment, from its file in the catalog."""

TagRule = Literal["no", "opened", "preopened"]
"""Where a deployment writes thinking into its text: nowhere, between tags, or before a closing tag
whose opening one the chat template wrote."""

C = TypeVar("C")
"""Request data that a dialect needs again when it writes the answer."""


# -- the caller's side ---------------------------------------------------------------------------


class AnswerContext(Struct, frozen=True):
    """The requested model, its route and the deployment's quirks; signatures name the first two.

    ``candidate``: which of several answers to the same request is read, from 0 on. ``logprobs``:
    the log probabilities of its tokens are read too.
    """

    model: str | None = None
    route: str | None = None
    quirks: Quirks = {}
    candidate: int = 0
    logprobs: bool = False


class EventStream(Protocol):
    """The decoder of one streamed answer: bytes in, events out."""

    @property
    def ending(self) -> bool:
        """Return whether the service has said that the answer is over; counts may still come."""

    def feed(self, data: bytes) -> list[Event]:
        """Return the events that these bytes complete; chunks can be split anywhere."""

    def eof(self) -> list[Event]:
        """Return the last events; raises Truncated if the answer was cut."""


class MatchScore(Protocol):
    """A function that returns how likely a piece of JSON is an answer of this API."""

    def __call__(self, raw: Json, *, stream: bool) -> int:
        """Return 0 to 100 for a body or, if ``stream``, for the first object of a stream."""


class Repair(Struct, frozen=True):
    """A rejected request, changed as the rejection suggests; ``unsealed``: removed signatures."""

    request: HttpRequest
    adjustment: Adjustment
    cure: SavedRepair
    holds_for: Literal["request", "thread", "model"] = "request"
    unsealed: tuple[str, ...] = ()


class EarlierAnswer(Struct, frozen=True):
    """An answer before a request; ``number`` is that of its exchange."""

    number: int
    provider: str | None
    model: str | None
    request_body: Json
    message: Message


class EarlierAnswers(Protocol):
    """The answers before a request, found by the parts that the request sends back."""

    def by_call_id(self, id: str) -> EarlierAnswer | None:
        """Return the answer that made a call with this id."""

    def by_call(self, name: str, arguments: Json) -> Sequence[EarlierAnswer]:
        """Return the answers with this call, for services that give no ids."""

    def by_signature(self, text: str) -> EarlierAnswer | None:
        """Return the answer that has a signature with this text in it."""


class SentRequest(Struct, frozen=True, kw_only=True):
    """A request that was sent; ``known``: whether the catalog has the deployment."""

    body: dict[str, Json]
    past: EarlierAnswers
    provider: str | None = None
    known: bool = True
    facts: Capability
    quirks: Quirks = {}


class ReplayIssue(Struct, frozen=True, kw_only=True):
    """A place where the service rejects (``refused``) or drops thinking; ``then``: its reaction."""

    code: str
    path: str
    what: str
    then: str
    cure: str
    refused: bool = True


class ReplayChecks(Struct, frozen=True, kw_only=True):
    """The checks of ``pondero guard`` for a request that sends a conversation back."""

    find_issues: Callable[[SentRequest], list[ReplayIssue]]
    has_history: Callable[[Mapping[str, Json]], bool]


class NoQuirks(Struct, frozen=True):
    """The quirks of a dialect whose deployments are all alike."""


class OwnTelemetry(Struct, frozen=True):
    """A provider with attributes of its own in OpenTelemetry's conventions, and its API's name."""

    provider: str
    api: str


class PromptCount(Struct, frozen=True):
    """How a service counts a prompt: the request for it, and the field of the answer."""

    request: Callable[[HttpRequest], HttpRequest]
    field: str


class ListPages(Struct, frozen=True):
    """How a list is asked for page by page.

    ``size`` is the query for the longest page, ``cursor`` the query's name for the next one;
    ``next`` is the field of a page that has its value, and ``more``, if there is such a field,
    whether there is a next page.
    """

    size: str
    cursor: str
    next: str
    more: str | None = None


class ModelListing(Struct, frozen=True):
    """Where a server lists the models it runs; ``rows`` is the list's field, ``name`` a row's.

    ``prefix`` is not part of a name in requests. Without ``pages``, there is only one.
    """

    path: str
    rows: str
    name: str
    prefix: str = ""
    headers: Mapping[str, str] = {}
    pages: ListPages | None = None

    def address(self, base: str, cursor: str | None = None) -> str:
        """Return the address of a page."""
        url = f"{base.rstrip('/')}{self.path}"
        if self.pages is None:
            return url
        after = f"&{self.pages.cursor}={quote(cursor, safe='')}" if cursor else ""
        return f"{url}?{self.pages.size}{after}"

    def find_rows(self, raw: Json) -> list[tuple[str, Json]] | None:
        """Return the names on a page with their rows; None if it is not a page of a list.

        Some servers send the rows alone.
        """
        rows = raw.get(self.rows) if isinstance(raw, dict) else raw
        if not isinstance(rows, list):
            return None
        named = [(row.get(self.name), row) for row in rows if isinstance(row, dict)]
        return [
            (name.removeprefix(self.prefix), row)
            for name, row in named
            if isinstance(name, str) and name
        ]

    def read(self, raw: Json) -> list[str]:
        """Return the names on a list; none if it is not one."""
        return [name for name, _ in self.find_rows(raw) or ()]

    def find_next(self, raw: Json) -> str | None:
        """Return the cursor of the next page; None after the last."""
        if self.pages is None or not isinstance(raw, dict):
            return None
        if self.pages.more is not None and not raw.get(self.pages.more):
            return None
        found = raw.get(self.pages.next)
        return found if isinstance(found, str) and found else None


class Caller(Struct, frozen=True, kw_only=True):
    """The caller's side of an API.

    - ``match_score`` returns how likely a piece of JSON is an answer of this API.
    - ``reapply_repair`` applies a saved repair before the service rejects the request.
    - ``count_field`` is the field of a count's answer that has the number; ``count_by`` says how a
      deployment counts prompts, if that depends on its quirks.
    - ``listing`` is the place of the list of models.
    - ``unsupported_parameters`` are omitted, with an adjustment.
    - ``signing_name`` is the service's name in requests that are signed instead of using a key.
    - ``output`` says how JSON answers are asked for, and which schemas are taken.
    - ``tools`` says which names and schemas of functions are taken.
    - ``stop_words`` are the API's words for an answer that a stop sequence ended.
    - ``needs_max_tokens``: the API rejects a request without a limit of the output.
    - ``hosted_tools`` are the tools that services run, as a request offers them, by kind.
    - ``hosted_settings`` are the paths of settings in such a tool, by kind and by our names.
    - ``tags_left`` returns which thinking the decoder leaves in the text, or shows as text first.
    - ``is_plan`` returns whether a text with this signature is a plan, which is like thinking.
    - ``own_telemetry``: the provider that has attributes of its own for this API.
    - ``level_turns`` says how a level is set inside a conversation.
    - ``retell`` returns a part of a hosted tool in words and pictures, for other services' models.
    - ``answers`` says where a request asks for several answers and for log probabilities.
    - ``rate_limits`` are the headers in which answers report the limits of the account.
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
    count_by: Callable[[Quirks], PromptCount | None] | None = None
    listing: ModelListing | None = None
    unsupported_parameters: frozenset[str] = frozenset()
    output: OutputSupport = OutputSupport(plain=HOST_PLAIN)
    tools: ToolRules = ToolRules()
    signing_name: str | None = None
    needs_max_tokens: bool = False
    hosted_tools: Mapping[str, Json] = {}
    hosted_settings: Mapping[str, Mapping[str, tuple[str, ...]]] = {}
    stop_words: frozenset[str] = frozenset()
    needs_cache_breakpoints: Callable[[str, Quirks], bool] | None = None
    tags_left: Callable[[Quirks], TagRule] | None = None
    is_plan: Callable[[Signature | None], bool] | None = None
    own_telemetry: OwnTelemetry | None = None
    retell: Callable[[Mapping[str, Json]], Told | None] | None = None
    answers: AnswerFields = AnswerFields()
    level_turns: LevelTurns | None = None
    rate_limits: RateLimitHeaders = RateLimitHeaders()

    def find_count(self, quirks: Quirks) -> PromptCount | None:
        """Return how a deployment counts prompts; None if it cannot."""
        if self.count_by is not None:
            return self.count_by(quirks)
        if self.count_request is None:
            return None
        return PromptCount(self.count_request, self.count_field)


# -- the service's side --------------------------------------------------------------------------


class Rejected(Exception):
    """A rejection by the service: its response, and the name of the rule that it follows."""

    def __init__(self, response: HttpResponse, rule: str = "") -> None:
        super().__init__(f"{response.status}: {response.body.decode('utf-8', 'replace')}")
        self.response = response
        self.rule = rule


class Signer(Protocol):
    """Makes the signature of a part, or None; ``before`` are the answer's blocks before it."""

    def __call__(self, part: Part, shown: str, before: Sequence[Json], /) -> Json | None:
        """Return the signature in the dialect's JSON."""


def leave_unsigned(_part: Part, _shown: str, _before: Sequence[Json], /) -> Json | None:
    """Return None: no part is signed."""
    return None


class ParsedRequest(Struct, Generic[C], frozen=True, kw_only=True):
    """A request, read leniently; ``unknown``: skipped paths; ``show`` is None if not said."""

    request: Request
    intent: Intent = UNSET
    show: bool | None = None
    unknown: tuple[str, ...] = ()
    context: C


class ReplyContext(Struct, Generic[C], frozen=True, kw_only=True):
    """The data for writing an answer; ``place`` is the API's name for where thinking goes.

    ``top_logprobs``: how many alternatives to a token are told; None: no log probabilities are.
    ``cache``: what the prompt cache did for the request. ``created``: when the answer began, in
    seconds since 1970, and ``clock`` says what time it is; without them, answers have a fixed time.
    """

    request: Request
    context: C
    sign: Signer = leave_unsigned
    seed: bytes = b""
    shown: bool = False
    refuses: bool = False
    place: str | None = None
    top_logprobs: int | None = None
    cache: CacheReport = CacheReport()
    created: int | None = None
    clock: Callable[[], float] | None = None


class AcceptedRequest(ReplyContext[C], Generic[C], frozen=True, kw_only=True):
    """A request that passed the service's rules; ``default``: the level if none is set.

    ``prefix``: what its place in the prompt cache depends on; None if the service has no cache.
    """

    intent: Intent = UNSET
    thinks: bool = False
    default: str | None = None
    prefix: PromptPrefix | None = None


class ByteStream(Protocol):
    """The writer of one streamed answer: events in, bytes out."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the response headers."""

    def feed(self, event: Event) -> bytes:
        """Return the bytes of an event; none if the API has no such event."""

    def eof(self) -> bytes:
        """Return the bytes that end the stream."""

    def fail(self, error: HttpResponse) -> bytes:
        """Return the bytes of an error that ends the stream."""


class SeveralAnswers(Struct, Generic[C], frozen=True, kw_only=True):
    """Writes several answers to one request, whose tokens the first one's counts have together.

    ``streams`` makes a writer for each of so many answers, the first of which ends the stream.
    """

    reply: Callable[[ReplyContext[C], Sequence[Reply]], HttpResponse]
    streams: Callable[[ReplyContext[C], int], Sequence[ByteStream]]


TOO_LONG = "context_length_exceeded"
"""The code for a prompt that is too long, in all dialects: each has its own words for it."""


class ErrorShape(Protocol):
    """A function that writes an error as the service does."""

    def __call__(
        self, status: int, message: str, *, code: str | None, retry_after: float | None
    ) -> HttpResponse:
        """Return an error of this status."""


class ServedModel(Struct, frozen=True):
    """A model on a list; limits are in tokens, levels from the weakest, media None if unknown."""

    name: str
    context: int | None = None
    max_output: int | None = None
    levels: tuple[str, ...] = ()
    default: str | None = None
    media: tuple[str, ...] | None = None
    owner: str = ""

    @property
    def thinks(self) -> bool:
        """Return whether it can think."""
        return any(level != "off" for level in self.levels)

    @property
    def sees(self) -> bool:
        """Return whether it accepts images; most models do, so unknown ones count as such."""
        return self.media is None or any(each.startswith("image") for each in self.media)


class ModelEndpoints(Struct, frozen=True, kw_only=True):
    """Lists of models, and token counts; ``write_any_list`` takes any name and needs no key."""

    classify: Callable[[HttpRequest], Literal["models", "tokens"] | None]
    write_list: Callable[[HttpRequest, Sequence[ServedModel], str], HttpResponse]
    requested_model: Callable[[HttpRequest], str | None]
    write_any_list: Callable[[HttpRequest, Sequence[ServedModel]], HttpResponse]
    parse_count: Callable[[HttpRequest], HttpRequest] | None = None
    write_count: Callable[[int], HttpResponse] | None = None


class StoredCall(Struct, frozen=True):
    """A request about something stored: what, which, and what to do with it."""

    what: Literal["response", "conversation"]
    id: str
    verb: Literal["create", "fetch", "delete", "cancel", "items"]


class StoredAnswer(Struct, frozen=True):
    """A stored answer, the request that it answers, and how far an answer in the background is."""

    request: HttpRequest
    answer: HttpResponse
    status: Literal["foreground", "queued", "in_progress", "finished", "cancelled"]


class GivenAnswer(Struct, frozen=True, kw_only=True):
    """A whole answer that the service may store; ``items``: its items by id, as JSON.

    ``input`` and ``output`` are the tokens that it reports. ``hidden``: for each item, the most
    tokens that the service has of it and does not show; None if nothing limits them.
    """

    id: str | None = None
    items: Mapping[str, bytes] = {}
    hidden: Mapping[str, int | None] = {}
    input: int | None = None
    output: int | None = None


class GivenItems(Protocol):
    """A function that returns an answer with its items."""

    def __call__(self, data: bytes, *, stream: bool) -> GivenAnswer | None:
        """Return an answer, or if ``stream`` that of one event; None if it has none."""


class StoredResponses(Struct, frozen=True, kw_only=True):
    """Continues stored answers and conversations, so that no history is sent again.

    - ``resume`` puts a stored request and its answer before the input, ``resume_conversation`` the
      items of a stored conversation.
    - ``references`` are the ids of items that a request names; ``put_items`` puts them in their
      places, and ``list_items`` lists those of a request and its answer.
    - ``is_stored`` tells from a request's context whether its answer is stored. ``find_answer``
      returns the answer with its items, from the whole of it or an event with an ``end_mark``.
    - ``classify`` recognises requests about stored things. ``write`` answers them, for a
      conversation with its items; both raise Rejected.
    """

    previous_id: Callable[[HttpRequest], str | None]
    stored_id: Callable[[ReplyContext[Json]], str | None]
    resume: Callable[[HttpRequest, HttpRequest, HttpResponse], HttpRequest]
    conversation_id: Callable[[HttpRequest], str | None]
    resume_conversation: Callable[[HttpRequest, str, Sequence[Json]], HttpRequest]
    resumed_conversation: Callable[[HttpRequest], str | None]
    references: Callable[[HttpRequest], tuple[str, ...]]
    put_items: Callable[[HttpRequest, Mapping[str, Json]], HttpRequest]
    list_items: Callable[[HttpRequest, HttpResponse | None], tuple[Json, ...]]
    is_background: Callable[[ReplyContext[Json]], bool]
    is_stored: Callable[[Json], bool]
    find_answer: GivenItems
    end_marks: tuple[bytes, ...]
    classify: Callable[[HttpRequest], StoredCall | None]
    write: Callable[[HttpRequest, StoredCall, StoredAnswer | None], HttpResponse]
    write_conversation: Callable[[HttpRequest, StoredCall, Sequence[Json] | None], HttpResponse]


class StoredId(Struct, frozen=True):
    """An id in a request of something that the service stores; ``field`` names the parameter.

    ``of_account``: no answer gives such ids. ``is_item``: it stands for an item of the
    conversation; one that ``may_be_dropped`` is not needed by another API. ``is_history``: it
    stands for all that came before. ``has_content``: the request has the thing itself too, so that
    only an id of another client is rejected. ``is_shared``: the account may have it for all, if no
    answer gave it to one client. ``is_address``: any API can name it, by an address.
    ``is_optional``: another account can be asked without it, as ``leave_out`` does it.
    """

    field: str
    id: str
    of_account: bool = False
    is_item: bool = False
    may_be_dropped: bool = False
    is_history: bool = False
    has_content: bool = False
    is_shared: bool = False
    is_address: bool = False
    is_optional: bool = False

    @property
    def needs_account(self) -> bool:
        """Return whether only the account that has a thing can answer a request with its id."""
        return not (self.has_content or self.is_optional or (self.is_item and self.may_be_dropped))


class GivenIds(Protocol):
    """A function that returns the ids that an answer gives."""

    def __call__(self, data: bytes, *, stream: bool) -> Iterable[str]:
        """Return the ids in an answer, or if ``stream`` in one event."""


class StoredIds(Struct, frozen=True, kw_only=True):
    """Where ids of stored things are: the gateway binds them to its clients.

    ``reject`` writes the error for an unknown id; one of ``marks`` is in every event that gives
    one, and one of ``item_marks`` in those that give ids of items before the answer ends, which
    matter only if it may be withdrawn. ``find_answer`` returns the id of an answer itself, which
    matters only if its request contains one of ``answer_marks``. ``is_named_in`` returns whether
    one turn of a conversation may name something, if turns do so each for itself. ``levels_at``:
    the fields of ids that stand for a conversation, in which a level may have been set.
    ``forward`` writes a request about a stored thing for the service that has it, whose usual
    request is the last argument; None: such requests are not sent on. ``find_address`` returns the
    name of the stored thing at an address that the service reads; None: it has no addresses of its
    own. ``named_at``: fields of things that the account may have for all, so that a request with
    one may name nothing. ``leave_out`` returns a body without the optional things of these ids:
    another account has none of them.
    """

    find: Callable[[HttpRequest], tuple[StoredId, ...]]
    reject: Callable[[StoredId], HttpResponse]
    find_given: GivenIds
    marks: tuple[bytes, ...] = ()
    item_marks: tuple[bytes, ...] = ()
    find_answer: GivenIds | None = None
    answer_marks: tuple[bytes, ...] = ()
    is_named_in: Callable[[bytes], bool] | None = None
    levels_at: tuple[str, ...] = ()
    forward: Callable[[HttpRequest, StoredCall, HttpRequest], HttpRequest] | None = None
    find_address: Callable[[str], str | None] | None = None
    named_at: tuple[str, ...] = ()
    leave_out: Callable[[bytes, frozenset[str]], bytes] | None = None


class SignatureSlots(Struct, frozen=True, kw_only=True):
    """Where clients of an API keep signatures and send them back; the gateway uses it.

    ``may_lose_thinking``: clients can send a signature back without its thinking.
    ``thinking_leads``: the service may reject calls in a tool loop without their thinking.
    """

    thinking: bool = False
    call: Literal["start", "end"] | None = None
    text: bool = False
    trailing_thinking: bool = False
    may_lose_thinking: bool = False
    thinking_leads: bool = False


class DepthPlaces(Struct, frozen=True, kw_only=True):
    """Where a request may say how much to think: every place from which any server reads it.

    ``fields``: paths from the top; ``more``: paths of extra depth above any level; ``of_models``:
    pairs of a word in a model's name and a path that is depth for such models alone. ``turns`` is
    the field with the conversation, ``in_turns`` the paths to a level inside one turn; such a turn
    contains one of ``marks`` as a JSON string. ``thinking_edits``: types of the edits in the list
    ``edits_at`` that need ``thinking.type`` to be one of ``thinking_on``. ``tied``: paths that the
    service takes only if another path has this value. ``between_tools``: a path and its value that
    mean off, but for notes between the calls of tools.
    """

    fields: tuple[tuple[str, ...], ...] = ()
    of_models: tuple[tuple[str, tuple[str, ...]], ...] = ()
    more: tuple[tuple[str, ...], ...] = ()
    turns: str = ""
    in_turns: tuple[tuple[str, ...], ...] = ()
    marks: tuple[str, ...] = ()
    edits_at: tuple[str, str] = ("", "")
    thinking_edits: tuple[str, ...] = ()
    thinking_on: tuple[str, ...] = ()
    tied: tuple[tuple[tuple[str, ...], tuple[str, ...], str], ...] = ()
    between_tools: tuple[tuple[str, ...], str] | None = None

    def list_fields(self, model: str) -> tuple[tuple[str, ...], ...]:
        """Return the paths from the top that are depth for a model."""
        name = model.lower()
        return (*self.fields, *(path for word, path in self.of_models if word in name))


class HostedTools(Struct, frozen=True, kw_only=True):
    """Which tools of a request the service runs itself, and how often the model then reads.

    ``client_run``: tools that the client runs, by type without date; all others are the service's.
    ``client_marks``: the type, field and value that say so in a tool. ``tools_at``: the lists of
    tools. ``is_keyed``: a tool is named by its field, not by a type. ``fields``: top-level fields
    that ask for such a tool; ``models``: marks in a model's name that do; ``windows``: those of
    models that use several windows for one request, and how many. ``turns``: the field whose items
    may offer tools too. ``own_results``: types that return only parts of the request.
    ``limited``: types that take ``max_uses``; ``advisors``: those that ask another model.
    ``passes``: how often the prompt is counted at most; 0 if only once, whatever the tools add.
    ``compacts_at``: the list of edits that may have the model write a summary first. ``thinks``:
    with such tools the model may think although its level is off.
    """

    client_run: frozenset[str] = frozenset({"function", "custom"})
    client_marks: tuple[tuple[str, str, str], ...] = ()
    tools_at: tuple[tuple[str, ...], ...] = (("tools",),)
    is_keyed: bool = False
    fields: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    windows: tuple[tuple[str, int], ...] = ()
    turns: str = ""
    own_results: frozenset[str] = frozenset()
    limited: frozenset[str] = frozenset()
    advisors: frozenset[str] = frozenset()
    passes: int = 0
    thinks: bool = False
    compacts_at: tuple[str, ...] = ()


class OtherModels(Struct, frozen=True, kw_only=True):
    """By which tools and plugins a service asks further models, with levels of their own.

    ``tools``: types of tools, without date; ``turns``: the field whose items may offer tools too.
    ``named_by``: fields of a service's tool that name a model; the tools ``without_thinking`` name
    models that do not think, unless they have one of ``marks``, pairs of a field and its value
    (None: any). ``depth``: fields of a service's tool with a level of its own. ``plugins_at``: the
    list of plugins, of which only ``plugins`` ask no further model.
    """

    tools: frozenset[str] = frozenset({"advisor"})
    turns: str = ""
    named_by: frozenset[str] = frozenset({"model", "models", "analysis_models", "judge_model"})
    without_thinking: frozenset[str] = frozenset({"image_generation"})
    marks: tuple[tuple[str, str | None], ...] = ()
    depth: frozenset[str] = frozenset()
    plugins_at: str = ""
    plugins: frozenset[str] = frozenset()


class PassthroughRules(Struct, frozen=True, kw_only=True):
    """Rules for a gateway that passes through; ``model_at``: paths of the model's name.

    The other paths are places in a request: ``limits_at`` of the most tokens to write,
    ``answers_at`` of the number of answers, ``background_at`` of the wish for an answer that is
    fetched later, each with the words that mean it (none: all but false), ``models_at`` of other
    models that the service may ask, for which ``preset_marks`` in a model's name stand too.
    ``others``: tools and plugins that ask other models. ``stored_at`` are names of fields, at any
    depth, whose value stands for text that the service has stored. ``labels``: fields that only say
    who asks and what for. ``usage_at`` asks for token counts in a stream; ``is_usage_event``
    recognises the data of the event that the service adds.
    """

    model_at: tuple[tuple[str, ...], ...] = ()
    headers: tuple[str, ...] = ()
    added_fields: tuple[str, ...] = ()
    limits_at: tuple[tuple[str, ...], ...] = ()
    answers_at: tuple[tuple[str, ...], ...] = ()
    background_at: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    models_at: tuple[tuple[str, ...], ...] = ()
    preset_marks: tuple[str, ...] = ()
    stored_at: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    others: OtherModels = OtherModels()
    hosted: HostedTools = HostedTools()
    usage_at: tuple[str, str] | None = None
    is_usage_event: Callable[[bytes], bool] | None = None


class ErrorId(Struct, frozen=True):
    """Where an error names the request: a header, and a field of the body, if the API has them."""

    header: str | None = None
    field: str | None = None


class OwnPaths(Struct, frozen=True, kw_only=True):
    """Which addresses are this API's alone, served or not: errors there have its format.

    ``error_code`` is what the API calls an address that it does not know, ``not_found`` what it
    says, with the blanks ``{method}`` and ``{path}``. ``advice`` are pairs of addresses that only
    the service itself has, and what to use in their place.
    """

    pattern: re.Pattern[str] = re.compile(r"(?!)")
    error_code: str | None = None
    not_found: str = "Not Found"
    advice: tuple[tuple[re.Pattern[str], str], ...] = ()


class Service(Struct, Generic[C], frozen=True, kw_only=True):
    """The service's side of an API.

    - ``parse`` is lenient and lists unknown fields; ``accept`` is strict and raises Rejected.
    - ``call_id`` makes a tool call's id from 32 hexadecimal digits.
    - ``restate_error`` rewrites an error in one provider's shape, if providers differ.
    - ``filter_reasons`` are the API's words for an answer that a filter withheld.
    - ``bad_key_errors`` are pairs of status and code that mean an invalid key in this API only.
    - ``shows_thinking`` is whether thinking is shown if a request does not say.
    - ``error_id`` is where an error names its request.
    - ``unwrap`` returns the request inside the wrapping of another product, or the same request.
    - ``ping`` keeps a silent stream alive; empty if the API has no such frame.
    - ``own_messages``: a client of the library may be given messages in this API's form.
    - ``several``: the API can give several answers to one request.
    - ``also_at``: providers whose own API is another and that serve this one too; each with the
      provider whose table of this API is theirs.
    - ``turn_form``: how turns of a conversation are told apart; None: only ``parse`` knows.
    - ``conversation`` says where clients name the conversation of a request.
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
    error_id: ErrorId = ErrorId()
    restate_error: Callable[[HttpResponse, str], HttpResponse] | None = None
    unwrap: Callable[[HttpRequest], HttpRequest] | None = None
    models: ModelEndpoints | None = None
    stored_responses: StoredResponses | None = None
    stored_ids: StoredIds | None = None
    kept_responses: "KeptResponses | None" = None
    filter_reasons: tuple[str | None, ...] = (None,)
    bad_key_errors: tuple[tuple[int, str], ...] = ()
    own_headers: frozenset[str] = frozenset()
    own_paths: OwnPaths = OwnPaths()
    shows_thinking: bool = True
    ping: bytes = b": ping\n\n"
    overloaded_status: int = 503
    passthrough: PassthroughRules = PassthroughRules()
    depth: DepthPlaces = DepthPlaces()
    slots: SignatureSlots = SignatureSlots()
    portability: Portability = Portability()
    media: MediaRules = MediaRules()
    own_messages: bool = False
    several: SeveralAnswers[C] | None = None
    also_at: Mapping[str, str] = {}
    turn_form: TurnForm | None = None
    conversation: ConversationMarks = ConversationMarks()


# -- both ----------------------------------------------------------------------------------------


class Dialect(Struct, frozen=True):
    """A wire format by its name; each side is imported when first used."""

    name: str
    caller: Callable[[], Caller]
    service: Callable[[], Service[Json]]
    replay_checks: Callable[[], ReplayChecks]
