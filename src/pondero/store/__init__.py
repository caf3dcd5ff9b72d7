"""The user's files: settings, models, keys, templates and threads."""

from ..errors import redact_with
from ..lazy import Loader, make_lazy_getattr
from .files import (
    config_folder,
    data_folder,
    load_catalog,
    load_config_file,
    load_toml,
    resolve_auto,
    write_atomic,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .bills import NO_PRICES, NOTHING_PAID, Charge, TokenBill, list_cost
    from .calibration_files import (
        calibration_file,
        check_auto,
        load_calibrations,
        note_served,
        remove_calibration,
        save_calibration,
    )
    from .command_lines import split_command
    from .config import (
        SETTINGS,
        Settings,
        append_models,
        check_config,
        check_setting,
        config_file,
        configured_policy,
        load_settings,
        models_file,
        set_config,
        unset_config,
        write_models,
    )
    from .credentials import NO_KEY, Credentials, find_key, resolve_url
    from .jobs import FACTS, Jobs
    from .key_shapes import KEY_SHAPES, KeyShape, find_key_shapes, list_encodings
    from .notices import is_new_notice
    from .prices import (
        MostPrices,
        assume_media,
        find_most_prices,
        has_media_input,
        has_prices,
        price_most,
        price_usage,
    )
    from .secrets import (
        SecretRedactor,
        StreamRedactor,
        forget_key,
        holds_secret,
        keys_file,
        known_secrets,
        list_saved_keys,
        load_saved_key,
        redact_secrets,
        register_secret,
        save_key,
    )
    from .templates import (
        Template,
        load_template,
        remove_template,
        template_file,
        template_names,
        write_template,
    )
    from .threads.captions import (
        format_dollars,
        format_time,
        heading,
        media_caption,
        reply_caption,
        speaker_name,
        thinking_caption,
        thread_caption,
    )
    from .threads.database import Database, Schema, hold_lock, is_busy, is_locked
    from .threads.exports import from_jsonl, to_html, to_jsonl, to_markdown
    from .threads.records import (
        Drafts,
        ExportLine,
        SavedPlace,
        SearchHit,
        StoredMessage,
        Thread,
        ThreadEnd,
        ThreadUsage,
        UnfinishedTurn,
        UsageTotal,
    )
    from .threads.rescue import RescuedTurn, RescuedWork, RescueFile, write_in_folders
    from .threads.rows import as_number
    from .threads.salvage import SalvagedThreads, salvage
    from .threads.threads import Threads
    from .threads.turn_log import TurnJournal, mark_partial
    from .tool_servers import (
        ServerLike,
        ToolServer,
        expand_variables,
        load_tool_servers,
        resolve_tool_server,
    )

_NAMES = {
    "calibration_files": (
        "calibration_file calibration_model check_auto load_calibrations note_served "
        "remove_calibration save_calibration"
    ),
    "command_lines": "split_command",
    "config": (
        "SETTINGS Settings append_models check_config check_setting config_file "
        "configured_policy load_settings models_file set_config unset_config write_models"
    ),
    "bills": "NOTHING_PAID NO_PRICES Charge TokenBill list_cost",
    "credentials": "NO_KEY Credentials find_key resolve_url",
    "jobs": "FACTS Jobs",
    "notices": "is_new_notice",
    "prices": (
        "MostPrices assume_media find_most_prices has_media_input has_prices price_most price_usage"
    ),
    "key_shapes": "KEY_SHAPES KeyShape find_key_shapes list_encodings",
    "secrets": (
        "SecretRedactor StreamRedactor forget_key holds_secret keys_file known_secrets "
        "list_saved_keys load_saved_key redact_secrets register_secret save_key"
    ),
    "templates": (
        "Template load_template remove_template template_file template_names write_template"
    ),
    "threads.captions": (
        "format_dollars format_time heading media_caption reply_caption speaker_name "
        "thinking_caption thread_caption"
    ),
    "threads.database": "Database Schema hold_lock is_busy is_locked",
    "threads.exports": "from_jsonl to_html to_jsonl to_markdown",
    "threads.records": (
        "Drafts ExportLine SavedPlace SearchHit StoredMessage Thread ThreadEnd ThreadUsage "
        "UnfinishedTurn UsageTotal"
    ),
    "threads.rescue": "RescueFile RescuedTurn RescuedWork write_in_folders",
    "threads.rows": "as_number",
    "threads.salvage": "SalvagedThreads salvage",
    "threads.threads": "Threads",
    "threads.turn_log": "TurnJournal mark_partial",
    "tool_servers": "ServerLike ToolServer expand_variables load_tool_servers resolve_tool_server",
}

__all__ = [
    "FACTS",
    "KEY_SHAPES",
    "NOTHING_PAID",
    "NO_KEY",
    "NO_PRICES",
    "SETTINGS",
    "Charge",
    "Credentials",
    "Database",
    "Drafts",
    "ExportLine",
    "Jobs",
    "KeyShape",
    "MostPrices",
    "RescueFile",
    "RescuedTurn",
    "RescuedWork",
    "SalvagedThreads",
    "SavedPlace",
    "Schema",
    "SearchHit",
    "SecretRedactor",
    "ServerLike",
    "Settings",
    "StoredMessage",
    "StreamRedactor",
    "Template",
    "Thread",
    "ThreadEnd",
    "ThreadUsage",
    "Threads",
    "TokenBill",
    "ToolServer",
    "TurnJournal",
    "UnfinishedTurn",
    "UsageTotal",
    "append_models",
    "as_number",
    "assume_media",
    "calibration_file",
    "check_auto",
    "check_config",
    "check_setting",
    "config_file",
    "config_folder",
    "configured_policy",
    "data_folder",
    "expand_variables",
    "find_key",
    "find_key_shapes",
    "find_most_prices",
    "forget_key",
    "format_dollars",
    "format_time",
    "from_jsonl",
    "has_media_input",
    "has_prices",
    "heading",
    "hold_lock",
    "holds_secret",
    "is_busy",
    "is_locked",
    "is_new_notice",
    "keys_file",
    "known_secrets",
    "list_cost",
    "list_encodings",
    "list_saved_keys",
    "load_calibrations",
    "load_catalog",
    "load_config_file",
    "load_saved_key",
    "load_settings",
    "load_template",
    "load_toml",
    "load_tool_servers",
    "mark_partial",
    "media_caption",
    "models_file",
    "note_served",
    "price_most",
    "price_usage",
    "redact_secrets",
    "register_secret",
    "remove_calibration",
    "remove_template",
    "reply_caption",
    "resolve_auto",
    "resolve_tool_server",
    "resolve_url",
    "salvage",
    "save_calibration",
    "save_key",
    "set_config",
    "speaker_name",
    "split_command",
    "template_file",
    "template_names",
    "thinking_caption",
    "thread_caption",
    "to_html",
    "to_jsonl",
    "to_markdown",
    "unset_config",
    "write_atomic",
    "write_in_folders",
    "write_models",
    "write_template",
]

# Load what opens a database on first use: a plan needs none of it.
__getattr__: Loader = make_lazy_getattr(__name__, _NAMES)


def _redact_error(text: str) -> str:
    from .secrets import SecretRedactor  # noqa: PLC0415 - only for an error

    return SecretRedactor(keyring=False).text(text)  # an error must not ask the user for a password


redact_with(_redact_error)
