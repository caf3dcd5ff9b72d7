"""The gateway: clients of any wire in front, models of any provider behind, seals kept."""

from ..lazy import Loader, make_lazy_getattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .clients import Chosen, Client, Start, bring_home, known_clients, private, start
    from .config import Config, Dial, Key, Route
    from .config_file import check_exposure, configured
    from .keys import Keys
    from .ledger import spent
    from .observers import observing
    from .routing import Routing
    from .secrets import hash_of, key_of, make_key, points_home, url_of
    from .server import run, serving
    from .shared import kept_keys

_HOMES = {
    "Chosen": "clients",
    "Client": "clients",
    "Config": "config",
    "Dial": "config",
    "Key": "config",
    "Keys": "keys",
    "Route": "config",
    "Routing": "routing",
    "Start": "clients",
    "bring_home": "clients",
    "check_exposure": "config_file",
    "known_clients": "clients",
    "configured": "config_file",
    "hash_of": "secrets",
    "kept_keys": "shared",
    "key_of": "secrets",
    "make_key": "secrets",
    "observing": "observers",
    "points_home": "secrets",
    "private": "clients",
    "run": "server",
    "serving": "server",
    "spent": "ledger",
    "start": "clients",
    "url_of": "secrets",
}

__all__ = [
    "Chosen",
    "Client",
    "Config",
    "Dial",
    "Key",
    "Keys",
    "Route",
    "Routing",
    "Start",
    "bring_home",
    "check_exposure",
    "configured",
    "hash_of",
    "kept_keys",
    "key_of",
    "known_clients",
    "make_key",
    "observing",
    "points_home",
    "private",
    "run",
    "serving",
    "spent",
    "start",
    "url_of",
]

# Load what serves on first use: reading a configuration needs none of it.
__getattr__: Loader = make_lazy_getattr(__name__, _HOMES)
