"""A model that says what we wrote: each token has one successor, whatever came before it.

Attention and feed-forward are zero, so what leaves the only layer is the token's own embedding;
the embedding is the identity and the output matrix is the table of successors.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

STEPS = {"low": 4, "medium": 12, "high": 32, "max": 64}  # thinking tokens of each level
PLANNING = 3  # thinking tokens before the tool call
ANSWER = "It is sunny in Paris today."
CALL = {"name": "get_weather", "arguments": {"city": "Paris"}}
CONTEXT = 8192

# The engine's three wires, as conftest describes them to us.
CHAT = "llamacpp:scripted"
RESPONSES = "engine-responses:spoken"
MESSAGES = "engine-messages:written"
WIRES = (CHAT, RESPONSES, MESSAGES)

_CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
_WIDTH = 384
_HEADS = 6
_NORMAL, _UNKNOWN, _CONTROL, _OURS, _BYTE = 1, 2, 3, 4, 6  # kinds of token, as GGUF numbers them

# Ends with the token the script begins at. Off closes the thinking before it has begun; a question
# that brings tools is answered by a call, and the result of a call by the answer.
TEMPLATE = """\
{%- if tools %}{{- '<|im_start|>system\\n<tools>\\n' }}{%- for tool in tools %}{{- tool | tojson }}{{- '\\n' }}{%- endfor %}{{- '</tools>\\nCall as <tool_call>\\n{"name": ..., "arguments": ...}\\n</tool_call><|im_end|>\\n' }}{%- endif %}
{%- for message in messages %}
{%- if message.role == 'assistant' %}
{{- '<|im_start|>assistant\\n' }}
{%- if message.reasoning_content %}{{- '<think>' + message.reasoning_content + '</think>' }}{%- endif %}
{%- if message.content %}{{- message.content }}{%- endif %}
{%- for call in message.tool_calls or [] %}
{%- set function = call.function if call.function else call %}
{{- '<tool_call>\\n{"name": "' + function.name + '", "arguments": ' }}
{%- if function.arguments is string %}{{- function.arguments }}{%- else %}{{- function.arguments | tojson }}{%- endif %}
{{- '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
{%- else %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{%- set calling = tools and messages[-1].role == 'user' %}
{%- set level = reasoning_effort if reasoning_effort is defined and reasoning_effort in ['none', 'low', 'medium', 'high', 'max'] else 'medium' %}
{{- '<|im_start|>assistant\\n' }}
{%- if level == 'none' or (enable_thinking is defined and enable_thinking is false) %}
{{- '<think>\\n</think>' if calling else '<think></think>' }}
{%- else %}
{{- '<think>' }}{{- '<|call|>' if calling else '<|' + level + '|>' }}
{%- endif %}
{%- endif %}
"""


class _Script(NamedTuple):
    tokens: list[str]
    kinds: list[int]
    successors: dict[str, str]


def _script() -> _Script:
    steps = [f"▁step{n:02}" for n in range(max(STEPS.values()), 0, -1)]  # counts down to the end
    planning = [f"▁plan{n}" for n in range(PLANNING)]
    words = ["▁" + word if n else word for n, word in enumerate(ANSWER.split())]
    entries = {level: f"<|{level}|>" for level in STEPS}
    control = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|call|>", *entries.values()]
    ours = ["<think>", "</think>", "\n</think>", _CALL]  # to the answer, and to the call
    chains = [
        [*steps, "</think>", *words, "</s>"],
        ["<|call|>", *planning, "\n</think>", _CALL, "</s>"],
        *([entry, steps[-STEPS[level]]] for level, entry in entries.items()),
    ]
    bytes_ = [f"<0x{n:02X}>" for n in range(256)]
    normal = [*steps, *planning, *words]
    kinds = (
        [_UNKNOWN, *[_BYTE] * 256, *[_CONTROL] * len(control)]
        + [_OURS] * len(ours) + [_NORMAL] * len(normal)
    )  # fmt: skip
    pairs = (pair for chain in chains for pair in pairwise(chain))
    return _Script(["<unk>", *bytes_, *control, *ours, *normal], kinds, dict(pairs))


def write(path: Path) -> Path:
    """Write the model as a GGUF file of three megabytes and return where it is."""
    import gguf
    import numpy as np

    script = _script()
    tokens = script.tokens
    at = {token: n for n, token in enumerate(tokens)}
    size = len(tokens)
    table: Any = np.zeros((size, _WIDTH), dtype=np.float32)
    table[at["</s>"], :] = 0.1  # whatever has no successor ends the answer
    for token, successor in script.successors.items():
        table[at[successor], at[token]] = 2
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("scripted")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(_WIDTH)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_rope_dimension_count(_WIDTH // _HEADS)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(size)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * size)
    writer.add_token_types(script.kinds)
    writer.add_unk_token_id(at["<unk>"])
    writer.add_bos_token_id(at["<s>"])
    writer.add_eos_token_id(at["</s>"])
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)
    square: Any = np.zeros((_WIDTH, _WIDTH), dtype=np.float32)
    ones: Any = np.ones(_WIDTH, dtype=np.float32)
    writer.add_tensor("token_embd.weight", np.eye(size, _WIDTH, dtype=np.float32))
    writer.add_tensor("output_norm.weight", ones)
    writer.add_tensor("output.weight", table)
    for name in ("attn_norm", "ffn_norm"):
        writer.add_tensor(f"blk.0.{name}.weight", ones)
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        writer.add_tensor(f"blk.0.{name}.weight", square)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
