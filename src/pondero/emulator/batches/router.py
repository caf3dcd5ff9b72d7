"""Routes a request to its batch service: checks the key, applies faults, answers."""

from collections.abc import Callable, Mapping
from threading import RLock
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

import msgspec

from ...canon import HttpRequest, HttpResponse
from ...catalog import BatchShape
from ...dialects import NAMES, Rejected, get_dialect
from ...store import load_catalog
from ..faults import OF_BATCHES, Fault, make_replacement
from ..routes import guess_route, home_providers, provider_at, provider_living_at
from . import BatchSettings, files, inline, jobs, messages, operations, requests
from .call import BatchCall, Endpoint
from .store import Answer, BatchStore, Clock

_SHAPES: Mapping[BatchShape, tuple[Endpoint, ...]] = {
    "messages": messages.ENDPOINTS,
    "files": files.ENDPOINTS,
    "operations": operations.ENDPOINTS,
    "jobs": jobs.ENDPOINTS,
    "requests": requests.ENDPOINTS,
    "inline": inline.ENDPOINTS,
}


class NextFault(Protocol):
    """A function that returns the next fault for a call."""

    def __call__(
        self, call: BatchCall, /, *, makes: bool
    ) -> tuple[Fault | None, Callable[[], object]]:
        """Return the fault and a function that uses it up; ``makes``: a batch is created."""
        ...


class BatchResponse(NamedTuple):
    """A response, the fault that damages it, and its service."""

    response: HttpResponse
    fault: Fault | None
    dialect: str
    provider: str


class BatchRouter:
    """The batch services; ``answer`` answers one request of a batch."""

    def __init__(
        self, answer: Answer, next_fault: NextFault, clock: Clock, settings: BatchSettings
    ) -> None:
        self._store = BatchStore(answer, clock)
        self._next_fault = next_fault
        self._settings = settings
        self._lock = RLock()

    def answer(self, request: HttpRequest, provider: str | None) -> BatchResponse | None:
        """Answer a request; None if it is for no batch service."""
        found = _find_endpoint(request, provider)
        if found is None:
            return None
        call, endpoint = found
        call = msgspec.structs.replace(call, settings=self._settings)
        fault: Fault | None = None
        with self._lock:
            try:
                if not endpoint.keyless:
                    _check_key(call)
                response, fault = self._handle(call, endpoint)
            except Rejected as no:
                response = no.response
        return BatchResponse(response, fault, call.wire.name, call.provider)

    def _handle(self, call: BatchCall, endpoint: Endpoint) -> tuple[HttpResponse, Fault | None]:
        """Answer a call, even if the answer is lost; a rejected call uses up no fault."""
        fault, use_up = self._next_fault(call, makes=endpoint.makes)
        if fault is not None and (other := _replace_answer(call, fault)) is not None:
            use_up()
            return other, fault
        of_batches = fault is not None and fault.kind in OF_BATCHES
        asked = msgspec.structs.replace(call, fault=fault) if of_batches else call
        response = endpoint.handler(self._store, asked)
        use_up()
        if fault is not None and fault.kind == "lost" and fault.status is not None:
            response = call.error(fault.status, fault.message or "Internal server error")
        return response, fault


def _replace_answer(call: BatchCall, fault: Fault) -> HttpResponse | None:
    """Return a fault's answer to a call without effect; None if the call has one."""
    if fault.kind == "refused":
        return HttpResponse(503, {})
    other = make_replacement(fault, call.wire)
    restated = call.wire.service().restate_error
    return other if other is None or restated is None else restated(other, call.provider)


def _find_endpoint(request: HttpRequest, provider: str | None) -> tuple[BatchCall, Endpoint] | None:
    parts = urlsplit(request.url)
    known = load_catalog().catalog.providers
    for name in dict.fromkeys([provider] if provider else _candidates(request)):
        here = known.get(name)
        if here is None or here.batch is None:
            continue
        for endpoint in _SHAPES[here.batch.shape]:
            found = endpoint.match(request.method, parts.path)
            if found is None:
                continue
            path_names = found.groupdict()
            root = f"{parts.scheme}://{parts.netloc}{path_names.pop('root')}"
            wire = get_dialect(here.dialect)
            call = BatchCall(
                request=request, wire=wire, provider=name, root=root, path_names=path_names
            )
            return call, endpoint
    return None


def _candidates(request: HttpRequest) -> list[str]:
    """Return possible providers: by address, else by name in the path, else all in order."""
    for where in (provider_living_at, provider_at):
        if here := [found for name in NAMES if (found := where(request.url, name)) is not None]:
            return here
    homes = [each.name for each in home_providers()]
    meant = guess_route(request, None)
    return [
        *([meant.service().default_provider] if meant else ()),
        *homes,
        *load_catalog().catalog.providers,
    ]


def _check_key(call: BatchCall) -> None:
    models = call.wire.service().models
    if models is None:
        return
    parts = urlsplit(call.request.url)
    url = f"{parts.scheme}://{parts.netloc}/v1beta/models?{parts.query}"
    asked = msgspec.structs.replace(call.request, method="GET", url=url)
    models.write_list(asked, (), call.provider)
