"""Admits a request under the quotas of its key, its key's group and its route.

Until ``settle`` the most it can use is reserved: the estimated prompt plus a quarter, and all
tokens the model may write. If a budget does not cover that, the output limit is lowered until it
does; without room for a useful answer the request is rejected. A rejected request counts nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from ...canon import MediaKind
from ...catalog import ModelEntry
from ...errors import (
    BadParameter,
    QuotaSpent,
    RateLimited,
    ServiceError,
    UsageError,
)
from ...exchange import sum_most_with
from ...thinking import Plan
from ..levels.level_plan import plan_attempt
from ..requests.long_bodies import give_way_after
from ..requests.routed_request import UNKNOWN_OUTPUT, RoutedRequest, find_usual_limit
from ..server.context import GatewayContext
from .framed_bound import FrameNeeds, PromptReservation, find_frame_needs
from .hosted_tools import AddedTokens, describe_tools, find_added, iter_limited
from .measured_prompt import MeasuredPrompts
from .most_cost import TEXT, price_calls, price_each, price_tokens
from .output_bound import (
    OutputBound,
    count_answers,
    find_background,
    find_limit,
    find_output_bound,
)
from .prompt_bound import describe_unseen, find_prompt_bound, find_prompt_media
from .quota import (
    ALONE,
    HAS_LEFT,
    Quota,
    QuotaUse,
    Unit,
    counts_cost,
    describe_quota,
    find_window,
    format_amount,
)
from .usage_counter import QuotaShortfall, UnreadAnswers
from .usage_meter import Figures

USEFUL_ANSWER = 1_024
"""Tokens beyond the least thinking: if a budget has room for fewer, the request is rejected."""
TOKENS_PER_BYTE = 0.3
"""The tokens that are reserved for a byte of a cached answer until it is read."""
_MANY = 10_000  # tokens, for the price of one
_TRIES = 3  # others may take what is left meanwhile

Amounts = Mapping[Unit, int]
_NOTHING: Amounts = {"requests": 0, "tokens": 0, "thinking_tokens": 0, "money": 0}
_ONE_REQUEST: Amounts = {**_NOTHING, "requests": 1}
_NO_PROMPTS = MeasuredPrompts()


class Admission(Struct, eq=False):
    """The reservation of one admitted request.

    ``prompts``: the prompt as it was measured for each model, if a quota depends on it.
    """

    _gateway: GatewayContext
    _id: str
    _uses: Sequence[QuotaUse]
    prompts: MeasuredPrompts = _NO_PROMPTS
    _more: list[str] = []

    @property
    def reserves(self) -> bool:
        """Return whether the request has quotas."""
        return bool(self._uses)

    async def extend(self) -> None:
        """Reserve as much again: an earlier call of a service may have used all of it."""
        if not self._uses:
            return
        uses = [each for each in self._uses if each.bound.unit != "requests"]
        full = await self._reserve_more(uses)
        if full is not None:
            raise make_quota_error(full, self._gateway.now())

    async def add(self, uses: Sequence[QuotaUse]) -> bool:
        """Reserve more; return whether there was room for it."""
        return await self._reserve_more(uses) is None

    async def _reserve_more(self, uses: Sequence[QuotaUse]) -> QuotaShortfall | None:
        id = f"{self._id}.{len(self._more) + 1}"
        full = await self._gateway.state.reserve(id, uses)
        if full is None:
            self._more.append(id)
        return full

    def release(self) -> None:
        """Give back the reservation of a request that is not sent."""
        self.settle(Figures())

    def settle(self, figures: Figures) -> None:
        """Replace the reservation by the actual use."""
        if not self._uses:
            return
        took = figures.amounts()
        settle = self._gateway.state.settle
        settle(self._id, [QuotaUse(each.bound, took[each.bound.unit]) for each in self._uses])
        for id in self._more:
            uses = [replace(each, amount=0) for each in self._uses if each.bound.unit != "requests"]
            settle(id, uses)


class _Need(Struct, frozen=True):
    """What a request needs: the most it can use, with this output limit.

    ``prompts``: found once, since media take time; empty if no quota depends on them.
    """

    routed: RoutedRequest
    amounts: Amounts
    prompts: MeasuredPrompts = _NO_PROMPTS


class AdmissionPlan(Struct, frozen=True):
    """What must be reserved for a request; ``uses`` is empty if it has no quotas."""

    need: _Need
    uses: Sequence[QuotaUse]

    @property
    def routed(self) -> RoutedRequest:
        """Return the request with its output limit, if it is reserved."""
        return self.need.routed


async def plan_admission(routed: RoutedRequest) -> AdmissionPlan:
    """Return what must be reserved for a request.

    Raises PermissionDenied; BadParameter for an answer in the background, whose use could not be
    counted.
    """
    return _plan_at_once(routed) or await _plan_measured(routed)


def _plan_at_once(routed: RoutedRequest) -> AdmissionPlan | None:
    """Return what must be reserved, if nothing has to be measured for it."""
    rules = routed.rules
    if not rules.quotas:
        return AdmissionPlan(_Need(routed, _NOTHING), ())
    if not rules.counts:
        return AdmissionPlan(_Need(routed, _ONE_REQUEST), list_uses(rules.quotas, _ONE_REQUEST))
    return None if routed.framed is None else _plan_framed(_bound_output(routed))


async def _plan_measured(routed: RoutedRequest) -> AdmissionPlan:
    need = await _measure_need(_bound_output(routed))
    return AdmissionPlan(need, list_uses(routed.rules.quotas, need.amounts))


async def _measure_need(routed: RoutedRequest) -> _Need:
    """Return the most a request can use; raises as ``plan_admission`` does."""
    if (field := find_background(routed)) is not None:
        message = (
            f"{field}: an answer in the background cannot be counted, and this key, its "
            f"group or this route has a budget or a token limit; ask without {field}"
        )
        raise BadParameter(message)
    entries = routed.resolved.entries
    await give_way_after(routed.call.http.body)
    prompts = tuple([find_prompt_bound(routed, entry) for entry in entries])
    await give_way_after(routed.call.http.body)
    if counts_cost(routed.rules.quotas):
        media = tuple([find_prompt_media(routed, entry) for entry in entries])
    else:
        media = (TEXT,) * len(entries)
    return _find_need(routed, prompts, media)


def list_uses(quotas: Iterable[Quota], amounts: Amounts) -> list[QuotaUse]:
    """Return what a request reserves of each quota."""
    uses: list[QuotaUse] = []
    for quota in quotas:
        amount = amounts[quota.unit]
        # A request that may take more than a limit has in all goes alone; a budget is never
        # overdrawn.
        if quota.rolling and amount > quota.most:
            amount = quota.most
        uses.append(QuotaUse(quota, amount))
    return uses


async def admit(gateway: GatewayContext, routed: RoutedRequest) -> tuple[RoutedRequest, Admission]:
    """Reserve the most a request may use; return it with the output limit that this allows.

    Raises RateLimited and QuotaSpent, and what ``plan_admission`` raises.
    """
    if not routed.rules.quotas:
        return routed, Admission(gateway, routed.call.id, ())
    plan, id = _plan_at_once(routed) or await _plan_measured(routed), routed.call.id
    full = await gateway.state.reserve(id, plan.uses)
    if full is None:
        return plan.need.routed, Admission(gateway, id, plan.uses, plan.need.prompts)
    return await continue_admission(gateway, plan, full)


async def reserve(
    gateway: GatewayContext,
    plan: AdmissionPlan,
    *,
    unread: Sequence[str] = (),
    id: str | None = None,
) -> QuotaShortfall | None:
    """Reserve what a request needs, and more for cached answers that are not read yet.

    The question is sent before anything is waited for.
    """
    if not plan.uses:
        return None
    answers = UnreadAnswers(tuple(unread), _find_rates(plan)) if unread else None
    return await gateway.state.reserve(id or plan.routed.call.id, plan.uses, unread=answers)


async def continue_admission(
    gateway: GatewayContext,
    plan: AdmissionPlan,
    full: QuotaShortfall | None,
    *,
    id: str | None = None,
) -> tuple[RoutedRequest, Admission]:
    """Admit a request, after the answer to its first reservation."""
    need, uses = plan.need, plan.uses
    name = id or need.routed.call.id
    tries = 1
    while full is not None:
        if full.bound.rolling or tries == _TRIES:
            raise make_quota_error(full, gateway.now())
        quotas = need.routed.rules.quotas
        need = await _lower_need(gateway, need, quotas)
        uses = list_uses(quotas, need.amounts)
        full = await gateway.state.reserve(name, uses)
        tries += 1
    return need.routed, Admission(gateway, name, uses, need.prompts)


async def admit_restored(
    gateway: GatewayContext, routed: RoutedRequest
) -> tuple[RoutedRequest, Admission]:
    """Admit a request that has a reservation, after more of its history was read.

    What the reservation lacks is added; if there is no room for that, it is given up for another.
    """
    plan, id = await plan_admission(routed), routed.call.id
    reserved = gateway.state.find_reserved(id)
    missing = [
        QuotaUse(each.bound, each.amount - reserved.get(each.bound.name, 0))
        for each in plan.uses
        if each.amount > reserved.get(each.bound.name, 0)
    ]
    admission = Admission(gateway, id, plan.uses, plan.need.prompts)
    if not missing or await admission.add(missing):
        return plan.routed, admission
    admission.release()
    again = f"{id}.again"
    return await continue_admission(gateway, plan, await reserve(gateway, plan, id=again), id=again)


def _find_rates(plan: AdmissionPlan) -> dict[Unit, float]:
    """Return how much more of each unit a request takes for a byte of restored history, about."""
    price = 0.0
    if plan.need.amounts["money"]:
        entries = plan.routed.resolved.entries
        price = max(price_tokens(each, _MANY, 0) for each in entries) / _MANY
    return {"tokens": TOKENS_PER_BYTE, "money": TOKENS_PER_BYTE * price}


def _bound_output(routed: RoutedRequest) -> RoutedRequest:
    """Return a request whose output limit is certain: its own, the models', or one that we set."""
    asked = routed.request.max_tokens
    if asked is not None and asked > 0:
        return _limit_output(routed, asked)
    known = [entry.capability.max_output for entry in routed.resolved.entries]
    if all(known):
        return routed
    usual = find_usual_limit(routed.resolved.entries)
    return replace(_limit_output(routed, usual), is_lowered=True)


def _limit_output(routed: RoutedRequest, limit: int) -> RoutedRequest:
    request = routed.request
    if request.max_tokens != limit:
        request = replace(request, max_tokens=limit)
    return replace(routed, request=request, output_limit=limit)


def _find_need(
    routed: RoutedRequest, prompts: tuple[int, ...], media: tuple[frozenset[MediaKind], ...]
) -> _Need:
    """Return the most a request can use of each unit, whichever of its models answers."""
    tokens = thinking = cost = 0
    is_priced = counts_cost(routed.rules.quotas)
    added: list[Sequence[AddedTokens]] = []
    for entry, prompt, kinds in zip(routed.resolved.entries, prompts, media, strict=True):
        bound = _find_bound(routed, entry)
        added.append(find_added(routed, entry, prompt))
        calls = [AddedTokens(entry, prompt, bound.output), *added[-1]]
        tokens = max(tokens, sum(each.input + each.output for each in calls))
        thinking = max(thinking, bound.thinking)
        if is_priced:
            cost = max(cost, price_calls(calls, kinds))
    amounts: Amounts = {
        "requests": 1,
        "tokens": tokens,
        "thinking_tokens": thinking,
        "money": cost,
    }
    entries = routed.resolved.entries
    return _Need(routed, amounts, MeasuredPrompts(entries, prompts, tuple(added), media))


def _plan_framed(routed: RoutedRequest) -> AdmissionPlan | None:
    """Return the same for a question in a known frame; None if more than its text decides it."""
    frame = find_frame_needs(routed)
    if frame is None:
        return None
    prompt = sum_most_with(frame.text, routed.request.messages[0].text)
    known = frame.known.get(prompt)
    if known is None:
        known = frame.keep(prompt, _find_framed_need(routed, frame, prompt))
    return AdmissionPlan(_Need(routed, known.amounts, known.prompts), known.uses)


def _find_framed_need(routed: RoutedRequest, frame: FrameNeeds, prompt: int) -> PromptReservation:
    entries, cost = routed.resolved.entries, 0
    if frame.is_priced:
        known = frame.find_cost(prompt)
        cost = price_each(entries, prompt, frame.outputs) if known is None else known
    amounts: Amounts = {
        "requests": 1,
        "tokens": prompt + frame.most,
        "thinking_tokens": frame.thinking,
        "money": cost,
    }
    count = len(entries)
    prompts = MeasuredPrompts(entries, (prompt,) * count, ((),) * count, (TEXT,) * count)
    return PromptReservation(amounts, list_uses(routed.rules.quotas, amounts), prompts)


def _find_plan(routed: RoutedRequest, entry: ModelEntry) -> Plan | None:
    try:
        return plan_attempt(routed, entry)[1]
    except UsageError:  # the attempt will report it
        return None


def _find_bound(routed: RoutedRequest, entry: ModelEntry) -> OutputBound:
    plan = _find_plan(routed, entry)
    if plan is not None:
        return find_output_bound(routed, entry, plan)
    most = routed.request.max_tokens or entry.capability.max_output or UNKNOWN_OUTPUT
    most *= count_answers(routed, entry)
    return OutputBound(most, most)


async def _lower_need(gateway: GatewayContext, need: _Need, quotas: Sequence[Quota]) -> _Need:
    """Return the request with the highest output limit that all budgets cover; or reject it."""
    budgets = [quota for quota in quotas if not quota.rolling]
    taken = await gateway.state.current_use(budgets)
    rooms = [(quota, quota.most - used) for quota, used in zip(budgets, taken, strict=True)]

    def with_limit(routed: RoutedRequest, limit: int) -> _Need:
        return _find_need(_limit_output(routed, limit), need.prompts.tokens, need.prompts.media)

    def fits(tried: _Need) -> bool:
        return all(tried.amounts[quota.unit] <= room for quota, room in rooms)

    low, high = _find_useful(need.routed), _find_highest(need.routed)
    asked = with_limit(need.routed, min(low, high))
    several = (with_limit(each, min(low, high)) for each in iter_limited(need.routed))
    lowest = asked if fits(asked) else next(filter(fits, several), None)
    if lowest is None:
        short = next((q, room) for q, room in rooms if asked.amounts[q.unit] > room)
        raise _reject_short(gateway, asked, *short)
    best, highest = lowest, high
    while low < high:
        middle = (low + high + 1) // 2
        tried = with_limit(lowest.routed, middle)
        if fits(tried):
            low, best = middle, tried
        else:
            high = middle - 1
    limit = best.routed.output_limit or highest
    is_lowered = need.routed.is_lowered or limit < highest
    return replace(best, routed=replace(best.routed, is_lowered=is_lowered))


def _reject_short(gateway: GatewayContext, need: _Need, quota: Quota, room: int) -> ServiceError:
    amount = need.amounts[quota.unit]
    full = QuotaShortfall(quota, quota.most - room, amount, _wait(gateway, quota))
    unseen = describe_unseen(need.routed) if quota.unit != "thinking_tokens" else None
    prompt = _find_prompt_amount(need, quota.unit)
    if prompt > quota.most:
        return _reject_prompt(full, prompt, unseen or "")
    tools = describe_tools(need.routed) if quota.unit != "thinking_tokens" else None
    cure = "; ".join(filter(None, (tools, unseen)))
    return make_quota_error(full, gateway.now(), cure, need="a short answer to this request needs")


def _find_prompt_amount(need: _Need, unit: Unit) -> int:
    """Return the most that the prompt takes, without any answer to it."""
    prompts = need.prompts
    if unit == "money":
        sizes = zip(prompts.entries, prompts.tokens, prompts.media, strict=True)
        return max(price_tokens(entry, tokens, 0, media) for entry, tokens, media in sizes)
    return max(prompts.tokens) if unit == "tokens" else 0


def _reject_prompt(full: QuotaShortfall, amount: int, cure: str) -> ServiceError:
    """Return the error for a prompt that a whole budget does not cover: no answer is too long."""
    quota = full.bound
    message = (
        f"{describe_quota(quota)}{ALONE[1]}"
        f"{format_amount(quota.unit, amount)}; {cure or 'shorten it, or raise the budget'}"
    )
    return QuotaSpent(message, status=429)  # the budget's next period is no larger


def _find_useful(routed: RoutedRequest) -> int:
    """Return the tokens of the shortest useful answer, after the least thinking of its models."""
    thinking = 0
    for entry in routed.resolved.entries:
        plan, budget = _find_plan(routed, entry), entry.capability.budget
        if plan is not None and plan.budget is not None and budget is not None:
            thinking = max(thinking, min(plan.budget, budget.min))
    return USEFUL_ANSWER + thinking


def _find_highest(routed: RoutedRequest) -> int:
    plans = ((entry, _find_plan(routed, entry)) for entry in routed.resolved.entries)
    limits = [find_limit(routed, entry, plan) for entry, plan in plans if plan is not None]
    return max(limits, default=routed.request.max_tokens or UNKNOWN_OUTPUT)


def _wait(gateway: GatewayContext, quota: Quota) -> float:
    """Return the seconds until a budget begins again."""
    now = int(gateway.now() * 1000)
    span = find_window(quota, now)
    return (span.ends(span.slot) - now) / 1000


def make_quota_error(
    full: QuotaShortfall, now: float, cure: str = "", *, need: str = "this request may take"
) -> ServiceError:
    """Return the error for a request that a quota has no room for; ``need``: what the amount is."""
    quota, wait = full.bound, ceil(full.wait)
    may_take = describe_quota(quota)
    amount = format_amount(quota.unit, full.amount)
    if quota.rolling:
        message = f"{may_take}; there is room again in {wait} s"
        if quota.unit == "tokens" and full.amount >= quota.most:
            # Few tokens may have been used, so the wait alone would be a riddle.
            message += f"; this request may take all of them: {cure or 'ask for fewer max_tokens'}"
        return RateLimited(message, status=429, retry_after=wait)
    if full.amount > quota.most:
        message = (
            f"{may_take}{ALONE[0]}{amount}; {cure or 'ask for fewer max_tokens, or a lower level'}"
        )
        return QuotaSpent(message, status=429)
    restart = datetime.fromtimestamp(now, UTC) + timedelta(seconds=wait)
    left = format_amount(quota.unit, max(0, quota.most - full.taken))
    message = (
        f"{may_take}{HAS_LEFT}{left} left; {need} {amount}; the budget "
        f"begins again at {restart:%Y-%m-%d %H:%M} UTC{cure and '; ' + cure}"
    )
    return QuotaSpent(message, status=429, retry_after=wait)
