"""What is on the user's disk: settings, models, keys and threads."""

from ..lazy import lazily
from .files import (
    catalog_files,
    config_folder,
    config_text,
    data_folder,
    lookup,
    write_whole,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .captions import day, dollars, footing, heading, medium, speaker, thought
    from .config import (
        SETTINGS,
        Settings,
        check_config,
        check_setting,
        config_file,
        models_file,
        set_config,
        settings,
        unset_config,
        with_models,
        write_models,
    )
    from .credentials import NO_KEY, Credentials, key_of, url_of
    from .database import Database, Schema
    from .exports import from_jsonl, to_html, to_jsonl, to_markdown
    from .prices import cost, has_prices
    from .records import Found, Kept, Line, Spent, Thread
    from .rows import money
    from .secrets import forget_key, hidden, keys_file, remember, save_key, saved_key, saved_keys
    from .threads import Threads

_HOMES = {
    "Credentials": "credentials",
    "Database": "database",
    "NO_KEY": "credentials",
    "SETTINGS": "config",
    "Schema": "database",
    "Found": "records",
    "Kept": "records",
    "Line": "records",
    "Settings": "config",
    "Spent": "records",
    "Thread": "records",
    "Threads": "threads",
    "check_config": "config",
    "check_setting": "config",
    "config_file": "config",
    "cost": "prices",
    "day": "captions",
    "dollars": "captions",
    "footing": "captions",
    "forget_key": "secrets",
    "from_jsonl": "exports",
    "has_prices": "prices",
    "heading": "captions",
    "hidden": "secrets",
    "key_of": "credentials",
    "keys_file": "secrets",
    "medium": "captions",
    "models_file": "config",
    "money": "rows",
    "remember": "secrets",
    "save_key": "secrets",
    "saved_key": "secrets",
    "saved_keys": "secrets",
    "set_config": "config",
    "settings": "config",
    "speaker": "captions",
    "thought": "captions",
    "to_html": "exports",
    "to_jsonl": "exports",
    "to_markdown": "exports",
    "unset_config": "config",
    "url_of": "credentials",
    "with_models": "config",
    "write_models": "config",
}

__all__ = [
    "NO_KEY",
    "SETTINGS",
    "Credentials",
    "Database",
    "Found",
    "Kept",
    "Line",
    "Schema",
    "Settings",
    "Spent",
    "Thread",
    "Threads",
    "catalog_files",
    "check_config",
    "check_setting",
    "config_file",
    "config_folder",
    "config_text",
    "cost",
    "data_folder",
    "day",
    "dollars",
    "footing",
    "forget_key",
    "from_jsonl",
    "has_prices",
    "heading",
    "hidden",
    "key_of",
    "keys_file",
    "lookup",
    "medium",
    "models_file",
    "money",
    "remember",
    "save_key",
    "saved_key",
    "saved_keys",
    "set_config",
    "settings",
    "speaker",
    "thought",
    "to_html",
    "to_jsonl",
    "to_markdown",
    "unset_config",
    "url_of",
    "with_models",
    "write_models",
    "write_whole",
]

# Load what opens a database on first use: a plan needs none of it.
__getattr__ = lazily(__name__, _HOMES)
