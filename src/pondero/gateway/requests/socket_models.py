"""Models in the messages of a socket: a key uses no others there than elsewhere."""

from ...dialects import Endpoint, find_texts, may_escape_names, parse_message
from ...errors import BadParameter
from ..config.model import GatewayKey
from ..server.context import GatewayContext
from .endpoint_target import check_named_model
from .repeated_fields import check_no_repeats


class SocketModels:
    """Looks into the messages after the first one; most name no model."""

    def __init__(self, gateway: GatewayContext, key: GatewayKey | None, endpoint: Endpoint) -> None:
        self._gateway = gateway
        self._key = key
        is_bound = key is not None and key.models is not None
        self._paths = endpoint.uses_at if is_bound else ()
        self._setup = endpoint.setup[:1]
        names = (*self._setup, *(path.rpartition(".")[2] for path in self._paths))
        self._marks = tuple(f'"{name}"'.encode() for name in names)

    def check(self, message: str | bytes) -> None:
        """Raise PermissionDenied if a client's message names a model that its key may not use.

        BadParameter if it sets the session up again, or services may read it in two ways.
        """
        if not self._marks:
            return
        data = message.encode("utf-8", "surrogatepass") if isinstance(message, str) else message
        if not (any(map(data.__contains__, self._marks)) or may_escape_names(data.__contains__)):
            return
        check_no_repeats(data, "a message")
        raw = parse_message(message)
        if isinstance(raw, dict) and any(name in raw for name in self._setup):
            # google-genai 3.1.0, LiveClientMessage: setup is for the first message.
            raise BadParameter("only the first message sets the session up")
        for path in self._paths:
            for model in find_texts(raw, path):
                check_named_model(self._gateway, model, self._key)
