"""Planted defects: what a wrong dialect would do, and the scenario that must see it.

Each takes a dialect and breaks one thing in it, in memory.
"""

from msgspec.structs import replace
from tests.contract import decoders, encoders
from tests.contract.decoders import Mutant, counting, decoding, each, ending, failing, part
from tests.contract.encoders import encoding, messages, parts, sending

LOST_DELTA = decoding(decoders.lost_delta)
LOST_THINKING = decoding(decoders.lost_thinking)
THINKING_AS_TEXT = decoding(decoders.thinking_as_text)
HALF_CALLS = decoding(decoders.half_calls)
UNSEALED = part(decoders.unsealed)
WRONG_WORDS = sending(encoders.wrong_words)
NOTHING_SAID = sending(encoders.nothing_said)
SAID_ANYWAY = sending(encoders.said_anyway)
LAST_WORDS_ONLY = encoding(lambda request: replace(request, messages=request.messages[-1:]))
NO_TOOLS = encoding(lambda request: replace(request, tools=()))
ALL_ALIKE = failing(decoders.all_alike)
IN_THE_ANSWER = counting(
    lambda u: replace(u, output=(u.output or 0) + (u.thinking or 0), thinking=None)
)
SWAPPED = counting(lambda u: replace(u, input=u.output, output=u.input))
ZERO = counting(lambda u: replace(u, thinking=u.thinking or 0))
TWICE = counting(lambda u: replace(u, input=(u.input or 0) + (u.cache_read or 0)))
ALL_IS_WELL = each(decoders.all_is_well)
NEVER_MIND = ending(finish="other", raw_finish=None)

MUTANTS: dict[str, dict[str, Mutant]] = {
    "simple_text": {"a lost delta": LOST_DELTA, "another finish": NEVER_MIND},
    "tool_call": {"arguments lost": HALF_CALLS, "tools not offered": NO_TOOLS},
    "tool_call_id_generation": {
        "an id of our own": part(decoders.call(id="call-1", minted=False)),
        "a long id": part(decoders.call(id="8c1f0b1e-7f3f-4d6f-9d0c-1f2f3f4f5f6f", minted=True)),
        "minted ids sent": encoding(parts(decoders.call(minted=False))),
        "an id of our own in a stream": part(
            decoders.call(id="call-1", minted=False), streams_only=True
        ),
        "the second call lost": decoding(decoders.lost_call),
        "the second call of a stream lost": decoding(decoders.lost_call, streams_only=True),
    },
    "thinking_config": {
        "wrong words": WRONG_WORDS,
        "nothing said": NOTHING_SAID,
        "another level": encoders.another_level,
    },
    "thinking_response": {
        "thinking lost": LOST_THINKING,
        "thinking taken for the answer": THINKING_AS_TEXT,
    },
    "streaming_text": {"a lost delta": LOST_DELTA},
    "streaming_thinking": {
        "thinking lost": LOST_THINKING,
        "thinking taken for the answer": THINKING_AS_TEXT,
    },
    "streaming_tool_call": {"arguments lost": HALF_CALLS},
    "error_auth": {
        "all errors alike": ALL_ALIKE,
        "the key in the address": encoders.key_in_the_address,
    },
    "error_rate_limit": {"all errors alike": ALL_ALIKE, "no patience": failing(decoders.impatient)},
    "error_invalid_request": {
        "all errors alike": ALL_ALIKE,
        "no words": failing(decoders.wordless),
    },
    "error_not_found": {"all errors alike": ALL_ALIKE},
    "error_server": {"all errors alike": ALL_ALIKE},
    "error_in_stream": {"a cut taken for an end": decoders.cut_is_an_end},
    "multi_turn": {
        "the past forgotten": LAST_WORDS_ONLY,
        "the assistant's words put into the user's mouth": encoding(messages(encoders.as_user)),
    },
    "role_mapping": {
        "results said as words": encoding(parts(encoders.as_words)),
        "no system prompt": encoding(lambda request: replace(request, system=())),
    },
    "token_usage": {"the cache counted twice": TWICE, "buckets swapped": SWAPPED},
    "grounding": {"sources lost": ending(grounding=None)},
    "safety_ratings": {"ratings lost": ending(safety=None)},
    "finish_reasons": {"another finish": NEVER_MIND, "all is well": ALL_IS_WELL},
    "content_filter": {"taken for an end": ending(finish="stop")},
    "model_echo": {
        "the name forgotten": each(decoders.nameless),
        "another model asked": encoding(lambda r: replace(r, model=f"{r.model}-0001")),
    },
    "framing": {"bytes taken for characters": decoders.misread_bytes},
    "thinking_budgets": {
        "wrong words": WRONG_WORDS,
        "nothing said": NOTHING_SAID,
        "another level": encoders.another_level,
    },
    "thinking_serialisation": {
        "wrong words": WRONG_WORDS,
        "nothing said": NOTHING_SAID,
        "another level": encoders.another_level,
    },
    "thinking_extraction": {
        "thinking lost": LOST_THINKING,
        "thinking taken for the answer": THINKING_AS_TEXT,
    },
    "thinking_tokens": {
        "thinking counted as the answer": IN_THE_ANSWER,
        "unknown taken for none": ZERO,
    },
    "thinking_transition": {
        "the past forgotten": LAST_WORDS_ONLY,
        "wrong words": WRONG_WORDS,
        "another level": encoders.another_level,
    },
    "thinking_off": {"nothing said": NOTHING_SAID, "wrong words": WRONG_WORDS},
    "thinking_low": {
        "wrong words": WRONG_WORDS,
        "nothing said": NOTHING_SAID,
        "another level": encoders.another_level,
    },
    "thinking_medium": {
        "wrong words": WRONG_WORDS,
        "nothing said": NOTHING_SAID,
        "another level": encoders.another_level,
    },
    "thinking_high": {
        "wrong words": WRONG_WORDS,
        "nothing said": NOTHING_SAID,
        "another level": encoders.another_level,
    },
    "thinking_max": {"wrong words": WRONG_WORDS, "nothing said": NOTHING_SAID},
    "thinking_unasked": {"thinking unasked": encoders.thinks_unasked},
    "thinking_unsupported_model": {"said anyway": SAID_ANYWAY},
    "thinking_all_models": {
        "said anyway": SAID_ANYWAY,
        "wrong words": WRONG_WORDS,
        "another level": encoders.another_level,
    },
    "thinking_invalid_level": {"anything goes": encoders.anything_goes},
    "thinking_streaming": {
        "thinking lost": LOST_THINKING,
        "thinking taken for the answer": THINKING_AS_TEXT,
    },
    "thinking_summary_flag": {
        "wrong words": WRONG_WORDS,
        "nothing said": NOTHING_SAID,
        "never shown": encoders.unshown,
    },
    "thinking_replay": {
        "a dropped seal": UNSEALED,
        "a seal dropped from a stream": part(decoders.unsealed, streams_only=True),
        "seals not sent back": encoding(parts(decoders.unsealed)),
        "the past forgotten": LAST_WORDS_ONLY,
    },
    "system_prompt": {"no system prompt": encoding(lambda request: replace(request, system=()))},
    "streaming_words": {"a lost delta": LOST_DELTA},
    "thinking_depth": {"nothing said": NOTHING_SAID, "another level": encoders.another_level},
}
