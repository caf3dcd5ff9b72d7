"""Further models that a request to an endpoint names besides its own: no way around a rule.

A conversation is sent without what asks them. A request to an endpoint passes as it is or not at
all.
"""

from collections.abc import Iterator, Mapping, Sequence

from ...canon import Json
from ...dialects import EndpointMatch, get_dialect
from ...errors import PermissionDenied
from ...exchange import fold_name, list_stated
from ..config.model import GatewayKey
from ..server.context import GatewayContext, Requester
from .endpoint_content import EndpointContent, check_once
from .endpoint_target import EndpointTarget, check_named_model
from .request_rules import find_rules


def check_other_models(
    gateway: GatewayContext,
    match: EndpointMatch,
    content: EndpointContent,
    requester: Requester,
    targets: Sequence[EndpointTarget],
) -> None:
    """Raise PermissionDenied if other models would be asked without the key's or route's rules."""
    key = requester.key
    quotas = find_rules(targets[0].route, requester.group, key).quotas
    if (key is None or key.models is None) and not quotas:
        return
    _check_named(gateway, match, content, key)
    rules = get_dialect(match.api.error).service().passthrough
    fields = content.raw if isinstance(content.raw, dict) else {}
    at = rules.others.plugins_at
    check_once(content.body, tuple(filter(None, (*(path[0] for path in rules.models_at), at))))
    asking = [".".join(path) for path in list_stated(fields, rules.models_at)]
    if at and not _are_quiet(fields, at, rules.others.plugins):
        asking.append(at)
    model = (content.model or "").lower()
    if any(mark in model for mark in rules.preset_marks):
        asking.append("model")
    if asking:
        message = (
            f"this key or route has rules, and {', '.join(asking)} may ask other models without "
            "them; name one model"
        )
        raise PermissionDenied(message, status=403)


def _check_named(
    gateway: GatewayContext, match: EndpointMatch, content: EndpointContent, key: GatewayKey | None
) -> None:
    """Check the models that are named at known places: the key may use any that it lists."""
    for path in match.endpoint.uses_at if key is not None and key.models is not None else ():
        if (top := path.partition(".")[0]) in content.fields:
            message = f"this key has a list of models, and {top} of a form may name any other"
            raise PermissionDenied(message, status=403)
        for model in _find_named(content.raw, path.split(".")):
            check_named_model(gateway, str(model), key)


def _find_named(raw: Json, path: Sequence[str]) -> Iterator[Json]:
    """Yield the values at a path, in any spelling of its names."""
    if not path:
        yield raw
    elif isinstance(raw, dict):
        for name, value in raw.items():
            if fold_name(name) == fold_name(path[0]):
                yield from _find_named(value, path[1:])


def _are_quiet(fields: Mapping[str, Json], at: str, quiet: frozenset[str]) -> bool:
    """Return whether all plugins are some that ask no model."""
    listed = [value for name, value in fields.items() if fold_name(name) == fold_name(at)]
    return all(
        isinstance(each, list)
        and all(isinstance(one, dict) and one.get("id") in quiet for one in each)
        for each in listed
    )
