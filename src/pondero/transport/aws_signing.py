"""Transports that sign requests with botocore (the extra ``bedrock``).

A signature is valid for minutes and for one body, so each attempt is signed when it is sent.
"""

import os
from functools import cache
from typing import Any

from msgspec.structs import replace

from ..canon import HttpRequest
from ..errors import BadParameter, MissingExtra, MissingKey
from ..exchange import AsyncResponse, AsyncTransport, Response, Signing, Timeouts, Transport
from ..extras import install_hint
from .event_loop import run_in_thread


class SigningTransport:
    """Signs the requests of another transport."""

    needs_key = True

    def __init__(self, transport: Transport, signing: Signing) -> None:
        self._transport = transport
        self._signing = signing

    def send(self, request: HttpRequest, timeouts: Timeouts) -> Response:
        """Sign and send a request; return once the response's head has arrived."""
        return self._transport.send(sign(request, self._signing), timeouts)

    def close(self) -> None:
        """Close every connection; may be called twice."""
        self._transport.close()


class AsyncSigningTransport:
    """Signs the requests of another transport, for asyncio."""

    needs_key = True

    def __init__(self, transport: AsyncTransport, signing: Signing) -> None:
        self._transport = transport
        self._signing = signing

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> AsyncResponse:
        """Sign and send a request; return once the response's head has arrived."""
        # botocore may block to fetch credentials.
        signed = await run_in_thread(sign, request, self._signing)
        return await self._transport.send(signed, timeouts)

    async def aclose(self) -> None:
        """Close every connection; may be called twice."""
        await self._transport.aclose()


def sign(request: HttpRequest, signing: Signing) -> HttpRequest:
    """Return the signed request; raises MissingExtra, MissingKey or BadParameter."""
    credentials, region = check_signing(signing)
    from botocore.auth import SigV4Auth  # noqa: PLC0415 - an extra
    from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - an extra

    asked = AWSRequest(request.method, request.url, dict(request.headers), request.body)
    SigV4Auth(credentials, signing.service, region).add_auth(asked)
    headers = {name.lower(): str(value) for name, value in asked.headers.items()}
    return replace(request, headers=headers)


def check_signing(signing: Signing) -> tuple[Any, str]:
    """Return credentials and region; raises MissingExtra, MissingKey or BadParameter.

    botocore may ask a server of the machine's cloud for them.
    """
    try:
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - an extra
    except ImportError as missing:
        message = (
            f"{signing.label} without a key needs signed requests: "
            f"{install_hint(signing.service)}, or set {_instead(signing)}"
        )
        raise MissingExtra(message) from missing
    try:
        session = _session()
        region = (
            signing.region
            or os.environ.get("AWS_REGION")  # botocore alone of all SDKs ignores it
            or session.get_config_variable("region")
        )
        found = session.get_credentials()
        credentials = found and found.get_frozen_credentials()
    except BotoCoreError as error:
        message = f"{signing.label}: cannot read the AWS credentials: {error}"
        raise MissingKey(message) from error
    if not credentials:
        message = (
            f"{signing.label} needs a key or credentials: set {_instead(signing)}, or "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; --offline works "
            "without them"
        )
        raise MissingKey(message)
    if not region:
        message = f"{signing.label}: no region to sign for; set AWS_REGION or AWS_DEFAULT_REGION"
        raise BadParameter(message)
    return credentials, region


@cache
def _session() -> Any:
    """Return the session of all requests; its credentials refresh themselves."""
    from botocore.session import Session  # noqa: PLC0415 - an extra

    return Session()


def _instead(signing: Signing) -> str:
    return " or ".join(signing.keys)
