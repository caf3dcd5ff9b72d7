"""TLS contexts, and one clear error for each certificate that cannot be read."""

import os
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import BadConfig, BadParameter, PonderoError


def make_context(verify: Any, cert: Any, usual: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
    """Return the context of a transport's arguments; raises BadParameter for invalid ones.

    ``usual`` makes one that trusts the system's authorities.
    """
    if isinstance(verify, ssl.SSLContext):
        if cert is not None:
            message = (
                "verify= is a context, which has its own certificate: use "
                "context.load_cert_chain(...) and omit cert="
            )
            raise BadParameter(message)
        return verify
    context = _authorities(verify, usual)
    if cert is not None:
        _load_certificate(context, cert)
    return context


def environment_context() -> ssl.SSLContext | None:
    """Return the context of SSL_CERT_FILE or SSL_CERT_DIR; raises BadConfig for a wrong path."""
    if path := os.environ.get("SSL_CERT_FILE"):
        return _read_authorities(path, f"SSL_CERT_FILE={path}", BadConfig)
    if path := os.environ.get("SSL_CERT_DIR"):
        if not any(Path(each).is_dir() for each in path.split(os.pathsep)):
            raise BadConfig(f"SSL_CERT_DIR={path}: no such folder; correct the variable")
        return ssl.create_default_context(capath=path)
    return None


def describe_certificate_fix(error: str) -> str:
    """Return what to do about a service's certificate that was not accepted, else nothing."""
    if "CERTIFICATE_VERIFY_FAILED" not in error:
        return ""
    return "; name its authority: SSL_CERT_FILE, or verify= of the transport"


def _authorities(verify: Any, usual: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
    if verify is True:
        return environment_context() or usual()
    if verify is False:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    if not isinstance(verify, (str, os.PathLike)):
        message = (
            f"invalid verify={verify!r}; use True, False, a file or folder of certificates, or an "
            "ssl.SSLContext"
        )
        raise BadParameter(message)
    return _read_authorities(os.fspath(verify), f"verify={os.fspath(verify)!r}", BadParameter)


def _read_authorities(path: str, named: str, kind: type[PonderoError]) -> ssl.SSLContext:
    if not path:
        raise kind(f"{named}: this is not a path; omit it, or name a file of certificates")
    try:
        if Path(path).is_dir():
            return ssl.create_default_context(capath=path)
        return ssl.create_default_context(cafile=path)
    except ssl.SSLError as error:
        message = f"{named}: this file has no certificates in PEM form ({_reason(error)})"
        raise kind(message) from error
    except (OSError, ValueError) as error:
        message = f"{named}: cannot read the certificates ({_reason(error)}); correct the path"
        raise kind(message) from error


def _load_certificate(context: ssl.SSLContext, cert: Any) -> None:
    files = (cert,) if isinstance(cert, (str, os.PathLike)) else cert
    if not isinstance(files, tuple) or not 1 <= len(files) <= 3 or not _are_paths(files):
        message = (
            "invalid cert=; use a PEM file with certificate and key, (certificate, key), or "
            "(certificate, key, password)"
        )
        raise BadParameter(message)
    certificate, key = os.fspath(files[0]), os.fspath(files[1]) if len(files) > 1 else None
    named = f"cert={certificate!r}" + (f" and {key!r}" if key else "")
    password = files[2] if len(files) == 3 else _refuse_to_ask
    try:
        context.load_cert_chain(certificate, key, password)
    except ssl.SSLError as error:
        why = "is the password right?" if len(files) == 3 else "both belong together, in PEM form"
        message = f"{named}: cannot use this certificate and its key ({_reason(error)}); {why}"
        raise BadParameter(message) from error
    except (OSError, ValueError) as error:
        message = f"{named}: cannot read the certificate ({_reason(error)}); correct the path"
        raise BadParameter(message) from error


def _are_paths(files: tuple[Any, ...]) -> bool:
    return all(isinstance(each, (str, os.PathLike)) for each in files)


def _refuse_to_ask() -> str:
    """Fail for an encrypted key; without this, OpenSSL asks for the password on the terminal."""
    raise BadParameter("the key of cert= is encrypted; use cert=(certificate, key, password)")


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or "not valid").lower().replace("_", " ")
    return (getattr(error, "strerror", None) or str(error)).lower()
