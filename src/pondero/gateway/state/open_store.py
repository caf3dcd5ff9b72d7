"""Opens the store of answers that ``[responses] store`` names."""

from ..config.model import REFERENCES, GatewayConfig
from ..config.secrets import read_reference
from .kept_store import KeptStore, LocalKeptStore
from .redis_link import RedisLink


def open_store(config: GatewayConfig, link: RedisLink | None) -> KeptStore | None:
    """Return the store of answers; None if none are kept. ``link``: the shared state's.

    Several processes without a shared state cannot keep answers in memory: the next request may
    reach another of them.
    """
    settings, name = config.responses, config.responses.store
    address = read_reference(name) if name.startswith(REFERENCES) else name
    if address == "off":
        return None
    if address != "state":
        from .sql_kept_store import SqlKeptStore, open_answers  # noqa: PLC0415 - an extra

        database = open_answers(address)
        return SqlKeptStore(database, seconds=settings.seconds, size=settings.bytes)
    if link is not None:
        from .redis_kept_store import RedisKeptStore  # noqa: PLC0415 - an extra

        return RedisKeptStore(link, seconds=settings.seconds, size=settings.bytes)
    if config.server.workers > 1:
        return None
    return LocalKeptStore(seconds=settings.seconds, size=settings.bytes)
