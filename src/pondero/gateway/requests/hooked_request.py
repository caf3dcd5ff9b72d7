"""Shows a request to the hooks of its route and its key, before it is admitted."""

from msgspec.structs import replace

from ...dialects import AnswerOptions
from ...errors import BadParameter
from ..config.model import HookConfig
from ..hooks.bounded_call import BoundedHook
from ..hooks.chain import HookedRequest, ask_hooks
from ..hooks.interface import HookCall
from ..server.context import GatewayContext
from .hook_choice import matches, matches_model
from .portability import find_answer_options
from .routed_request import RoutedRequest


async def show_to_hooks(gateway: GatewayContext, routed: RoutedRequest) -> RoutedRequest:
    """Return the request with what its hooks change; raises HookRejection and BadParameter."""
    call = _make_call(routed)
    hooks = [hook for hook in gateway.hooks if _is_for(hook.config, call)]
    if not hooks:
        return routed
    options = find_answer_options(routed)
    hooks = [hook for hook in hooks if hook.hook.sees_all or not _is_against(hook, options)]
    is_single = options.count <= 1 and options.top is None
    hooked = await ask_hooks(hooks, call, is_single=is_single)
    _check_options(options, hooked)
    if not hooked.is_changed:
        return replace(routed, hooked=hooked)
    # Further fields are carried from the request as it was parsed.
    sent = replace(routed.parsed.request, extras=hooked.request.extras)
    parsed = replace(routed.parsed, request=sent)
    return replace(routed, hooked=hooked, parsed=parsed, request=hooked.request)


def _make_call(routed: RoutedRequest) -> HookCall:
    requester, resolved = routed.call.requester, routed.resolved
    route, rule = resolved.route, routed.purpose.rule
    intent = routed.requested_level.intent
    return HookCall(
        id=routed.call.id,
        key=requester.name,
        client=requester.id,
        client_api=routed.call.client_dialect,
        model=resolved.name,
        level=None if intent.as_text is None else str(intent.as_text),
        route=route.match if route is not None else None,
        purpose=routed.purpose.purpose,
        request=routed.request,
        body=routed.call.http.body,
        notes={},
        models=tuple([entry.id for entry in resolved.entries]),
        rule=None if rule is None else rule.name,
        kind=routed.requested_level.kind,
    )


def _is_for(hook: HookConfig, call: HookCall) -> bool:
    """Return whether a hook is for a request; one without a route is known by its model.

    A client may write the name of a model in any of its forms, and goes around no hook with one.
    """
    names = [call.route or call.model]
    if call.route is None:
        names += [*call.models, *[each.partition(":")[2] for each in call.models]]
    return matches_model(hook.routes, names) and matches(hook.keys, call.key)


def _is_against(hook: BoundedHook, options: AnswerOptions) -> bool:
    """Return whether a request that asks for such answers cannot pass a hook."""
    if options.top is not None and hook.hook.changes_answers:
        return True
    return options.count > 1 and hook.reads_answers


def _check_options(options: AnswerOptions, hooked: HookedRequest) -> None:
    """Raise BadParameter for answers that would pass the hooks unseen, or unchanged."""
    if not hooked.reads_answers and hooked.answer is None:
        return
    if options.count > 1:
        message = "a hook of this gateway reads one answer at a time; ask for a single answer"
        raise BadParameter(message)
    if options.top is not None and hooked.writes_answer:
        message = "a hook of this gateway changes answers; ask without log probabilities"
        raise BadParameter(message)
