"""The ways through each gateway that the bench measures, and the goals of ours."""

from dataclasses import dataclass

_ALL = frozenset({"small", "agent", "stream", "first", "crowd", "talk"})
_ANSWERS = frozenset({"small", "agent"})
_STREAMS = _ANSWERS | {"stream"}
_STATE = frozenset({"state"})


@dataclass(frozen=True)
class Road:
    """A way through a gateway; ``requests`` are so many that a turn takes about half a second."""

    gate: str
    front: str
    model: str
    requests: int = 640
    works: frozenset[str] = _ALL

    @property
    def big_requests(self) -> int:
        """Return how many requests of an agent are as much work."""
        return max(8, self.requests // 8)


_CLAUDE, _DEEPSEEK, _GPT, _GEMINI = (
    "claude-opus-5",
    "deepseek-reasoner",
    "gpt-5.4",
    "gemini-3-flash-preview",
)
_OPENAI = "smg, OpenAI's"
_TENSORZERO = "tensorzero::model_name::"

# Ours are named by the client API, and the service's if that is another one.
ROADS = {
    "bare Messages": Road("bare", "messages", _CLAUDE),
    "bare Chat": Road("bare", "chat", _DEEPSEEK, works=_STREAMS),
    "Messages": Road("pondero", "messages", _CLAUDE),
    "Chat": Road("pondero", "chat", _DEEPSEEK, works=_ALL - {"crowd"}),
    # What DeepSeek takes is not all that OpenAI takes, so only a request to OpenAI is passed on.
    "Chat, OpenAI's": Road("pondero", "chat", f"openai-chat:{_GPT}", works=frozenset({"small"})),
    "Responses": Road("pondero", "responses", _GPT, works=_ALL - {"crowd"}),
    "Gemini": Road("pondero", "gemini", _GEMINI, works=_ALL - {"crowd"}),
    "Chat to Messages": Road("pondero", "chat", _CLAUDE),
    "Messages to Chat": Road("pondero", "messages", _DEEPSEEK),
    "Messages to Responses": Road("pondero", "messages", _GPT),
    "Messages, unrecorded": Road("unrecorded", "messages", _CLAUDE, works=_ANSWERS),
    "Messages, a key": Road("key", "messages", _CLAUDE, works=_STATE),
    "Messages, a key with quotas": Road("quotas", "messages", _CLAUDE, works=_STATE),
    "Messages, Redis": Road("redis", "messages", _CLAUDE, works=_STATE),
    "Messages, Redis and quotas": Road("redis quotas", "messages", _CLAUDE, works=_STATE),
    "Envoy Messages": Road("envoy", "messages", _CLAUDE, works=_STREAMS),
    "Envoy Chat": Road("envoy", "chat", _DEEPSEEK, works=_STREAMS),
    "smg Messages": Road("smg", "messages", _CLAUDE, works=_STREAMS | {"talk", "first"}),
    "smg Chat": Road(_OPENAI, "chat", _DEEPSEEK, works=_STREAMS | {"talk"}),
    "smg Responses": Road(_OPENAI, "responses", _GPT, works=_STREAMS | {"talk"}),
    "TensorZero Chat": Road("tensorzero", "chat", f"{_TENSORZERO}{_DEEPSEEK}", 320, _STREAMS),
    "TensorZero Chat to Messages": Road(
        "tensorzero", "chat", f"{_TENSORZERO}{_CLAUDE}", 320, _STREAMS
    ),
    "LiteLLM Messages": Road("litellm-proxy", "messages", _CLAUDE, 64, _STREAMS | {"first"}),
    "LiteLLM Chat to Messages": Road("litellm-proxy", "chat", _CLAUDE, 64, _STREAMS),
    # Portkey 1.15.2 answers every stream with 500: on Node 20 it changes headers that are fixed.
    "Portkey Messages": Road("portkey", "messages", _CLAUDE, 320, _ANSWERS),
    "Portkey Chat to Messages": Road("portkey", "chat", _CLAUDE, 320, _ANSWERS),
}
PASSED = ("Messages", "Chat", "Responses", "Gemini")
TRANSLATED = ("Chat to Messages", "Messages to Chat")
OURS = (*PASSED, *TRANSLATED, "Messages to Responses")
OWN = frozenset({"bare", "pondero", "unrecorded", "key", "quotas", "redis", "redis quotas"})

# The other that each of ours is compared with: smg has no Gemini, and only TensorZero translates.
SMG = {name: f"smg {name}" for name in PASSED[:3]} | {
    "Gemini": "smg Messages",
    "Chat, OpenAI's": "smg Chat",
}
TENSORZERO = dict.fromkeys(TRANSLATED, "TensorZero Chat to Messages")
LITELLM = {name: f"LiteLLM {name}" for name in ("Messages", "Chat to Messages")}
PORTKEY = {name: f"Portkey {name}" for name in LITELLM}

# What a key costs more than another one, in us, and the goal.
STATE = (
    ("Messages, a key with quotas", "Messages, a key", 25),
    ("Messages, Redis", "Messages, a key", 200),
    ("Messages, Redis and quotas", "Messages, a key with quotas", 350),
)
# Goals. A request, in CPU: small, and of an agent.
SMALL = dict.fromkeys((*PASSED, "Chat, OpenAI's", *TRANSLATED), 2.3)
AGENT = {**dict.fromkeys(PASSED, 1.5), **dict.fromkeys(TRANSLATED, 1.0)}
# A stream: 12, 20, 22 and 30 ms where bare aiohttp takes 8.
STREAM = {"Messages": 12 / 8, "Chat": 20 / 8, "Responses": 22 / 8, "Gemini": 30 / 8}
