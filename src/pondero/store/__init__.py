"""What is kept on disk: the user's files, and the threads."""

from ..lazy import lazily
from .catalog import catalog_files, lookup
from .folders import config_folder, config_text, data_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .config import (
        SETTINGS,
        Settings,
        check_config,
        check_setting,
        config_file,
        set_config,
        settings,
        unset_config,
    )
    from .files import write_whole
    from .html import to_html
    from .jsonl import from_jsonl, to_jsonl
    from .kept import Found, Kept, Line, Spent, Thread
    from .keys import forget_key, keys_file, save_key, saved_key, saved_keys
    from .markdown import to_markdown
    from .models import models_file, with_models, write_models
    from .rows import money
    from .secrets import hidden, remember
    from .threads import Threads
    from .wording import day, dollars, footing, heading, medium, speaker, thought

_HOMES = {
    "SETTINGS": "config",
    "Found": "kept",
    "Kept": "kept",
    "Line": "kept",
    "Settings": "config",
    "Spent": "kept",
    "Thread": "kept",
    "Threads": "threads",
    "check_config": "config",
    "check_setting": "config",
    "config_file": "config",
    "day": "wording",
    "dollars": "wording",
    "footing": "wording",
    "forget_key": "keys",
    "from_jsonl": "jsonl",
    "heading": "wording",
    "hidden": "secrets",
    "keys_file": "keys",
    "medium": "wording",
    "models_file": "models",
    "money": "rows",
    "remember": "secrets",
    "save_key": "keys",
    "saved_key": "keys",
    "saved_keys": "keys",
    "set_config": "config",
    "settings": "config",
    "speaker": "wording",
    "thought": "wording",
    "to_html": "html",
    "to_jsonl": "jsonl",
    "to_markdown": "markdown",
    "unset_config": "config",
    "with_models": "models",
    "write_models": "models",
    "write_whole": "files",
}

__all__ = [
    "SETTINGS",
    "Found",
    "Kept",
    "Line",
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
    "data_folder",
    "day",
    "dollars",
    "footing",
    "forget_key",
    "from_jsonl",
    "heading",
    "hidden",
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
    "with_models",
    "write_models",
    "write_whole",
]

# Load what opens a database on first use: a plan needs none of it.
__getattr__ = lazily(__name__, _HOMES)
