"""One request and its answer: plan, prepare, send, read, retry. No socket, no clock."""

from ..lazy import Loader, make_lazy_getattr
from .planner import insist, plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .calibration import (
        CALIBRATION_VERSION,
        EMULATED,
        OLDEST,
        Calibration,
        Calibrations,
        LevelEvidence,
        apply_calibration,
        describe_evidence,
        fields_hash,
        fingerprint,
    )
    from .decoder import Decoded, decode
    from .exchange_flow import (
        Emit,
        Flow,
        ReadAll,
        ReadBytes,
        Send,
        Shows,
        Sleep,
        Step,
        flow,
        read_reply,
        verdict,
    )
    from .fallback import (
        PATIENCE,
        gave_last_answer,
        is_deployment_fault,
        is_fallback_error,
        shorten_retries,
    )
    from .further_answers import FurtherAnswers
    from .known_questions import KnownQuestions, QuestionNeeds
    from .patch import (
        apply_plan,
        change_fields,
        depth_paths_of,
        encode_name,
        fold_name,
        fold_path,
        group_names,
        list_stated,
        matches_plan,
        states_only,
        thinking_paths,
        with_fields,
        with_list_headers,
        write_fields,
    )
    from .prepare_steps.cache_breakpoints import add_cache_breakpoints, count_cache_breakpoints
    from .prepare_steps.draft import EarlierRequests, LevelWindow
    from .prepare_steps.foreign_tools import TextCalls
    from .prepare_steps.history import TURN_ADDED, make_destination, needs_thinking_first
    from .prepare_steps.level_updates import (
        add_update,
        can_state_inside,
        find_stated_window,
        preview_level,
    )
    from .prepare_steps.rejections import make_rejection, rejected_signatures, rejections_for
    from .rate_limits import RateLimit, parse_rate_limits
    from .request import (
        Exchange,
        Prepared,
        Signing,
        add_headers,
        auth_header,
        compose,
        list_keys,
        make_signing,
        prepare,
        prepare_in_steps,
        redact_key,
    )
    from .retry import Retry
    from .telemetry import usage_attributes
    from .token_estimate import (
        CHARACTERS,
        TextSize,
        estimate_characters,
        estimate_tokens,
        is_document,
        is_text,
        iter_encoded,
        measure_frame,
        measure_json,
        sum_most,
        sum_most_with,
    )
    from .transport import (
        AsyncResponse,
        AsyncTransport,
        Response,
        Timeouts,
        Transport,
        find_emulator,
        is_emulator,
        is_played,
        note_recording,
    )
    from .work_steps import WorkSteps, finish_steps

_NAMES = {
    "calibration": (
        "CALIBRATION_VERSION EMULATED OLDEST Calibration Calibrations LevelEvidence "
        "apply_calibration describe_evidence fields_hash fingerprint"
    ),
    "decoder": "Decoded decode",
    "exchange_flow": "Emit Flow ReadAll ReadBytes Send Shows Sleep Step flow read_reply verdict",
    "fallback": "PATIENCE gave_last_answer is_deployment_fault is_fallback_error shorten_retries",
    "further_answers": "FurtherAnswers",
    "known_questions": "KnownQuestions QuestionNeeds",
    "patch": (
        "apply_plan change_fields depth_paths_of encode_name fold_name fold_path group_names "
        "list_stated matches_plan states_only thinking_paths with_fields with_list_headers "
        "write_fields"
    ),
    "prepare_steps.cache_breakpoints": "add_cache_breakpoints count_cache_breakpoints",
    "prepare_steps.foreign_tools": "TextCalls",
    "prepare_steps.history": "TURN_ADDED make_destination needs_thinking_first",
    "prepare_steps.draft": "EarlierRequests LevelWindow",
    "prepare_steps.level_updates": "add_update can_state_inside find_stated_window preview_level",
    "prepare_steps.rejections": "make_rejection rejected_signatures rejections_for",
    "rate_limits": "RateLimit parse_rate_limits",
    "request": (
        "Exchange Prepared Signing add_headers auth_header compose list_keys make_signing "
        "prepare prepare_in_steps redact_key"
    ),
    "retry": "Retry",
    "telemetry": "usage_attributes",
    "token_estimate": (
        "CHARACTERS TextSize estimate_characters estimate_tokens is_document is_text "
        "iter_encoded measure_frame measure_json sum_most sum_most_with"
    ),
    "transport": (
        "AsyncResponse AsyncTransport Response Timeouts Transport find_emulator is_emulator "
        "is_played note_recording"
    ),
    "work_steps": "WorkSteps finish_steps",
}

__all__ = [
    "CALIBRATION_VERSION",
    "CHARACTERS",
    "EMULATED",
    "OLDEST",
    "PATIENCE",
    "TURN_ADDED",
    "AsyncResponse",
    "AsyncTransport",
    "Calibration",
    "Calibrations",
    "Decoded",
    "EarlierRequests",
    "Emit",
    "Exchange",
    "Flow",
    "FurtherAnswers",
    "KnownQuestions",
    "LevelEvidence",
    "LevelWindow",
    "Prepared",
    "QuestionNeeds",
    "RateLimit",
    "ReadAll",
    "ReadBytes",
    "Response",
    "Retry",
    "Send",
    "Shows",
    "Signing",
    "Sleep",
    "Step",
    "TextCalls",
    "TextSize",
    "Timeouts",
    "Transport",
    "WorkSteps",
    "add_cache_breakpoints",
    "add_headers",
    "add_update",
    "apply_calibration",
    "apply_plan",
    "auth_header",
    "can_state_inside",
    "change_fields",
    "compose",
    "count_cache_breakpoints",
    "decode",
    "depth_paths_of",
    "describe_evidence",
    "encode_name",
    "estimate_characters",
    "estimate_tokens",
    "fields_hash",
    "find_emulator",
    "find_stated_window",
    "fingerprint",
    "finish_steps",
    "flow",
    "fold_name",
    "fold_path",
    "gave_last_answer",
    "group_names",
    "insist",
    "is_deployment_fault",
    "is_document",
    "is_emulator",
    "is_fallback_error",
    "is_played",
    "is_text",
    "iter_encoded",
    "list_keys",
    "list_stated",
    "make_destination",
    "make_rejection",
    "make_signing",
    "matches_plan",
    "measure_frame",
    "measure_json",
    "needs_thinking_first",
    "note_recording",
    "parse_rate_limits",
    "plan",
    "prepare",
    "prepare_in_steps",
    "preview_level",
    "read_reply",
    "redact_key",
    "rejected_signatures",
    "rejections_for",
    "shorten_retries",
    "states_only",
    "sum_most",
    "sum_most_with",
    "thinking_paths",
    "usage_attributes",
    "verdict",
    "with_fields",
    "with_list_headers",
    "write_fields",
]

# Load modules that need the dialects on first use: a plan needs none of them.
__getattr__: Loader = make_lazy_getattr(__name__, _NAMES)
