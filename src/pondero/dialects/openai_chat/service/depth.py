"""Where a request says how much to think, for a gateway that limits it."""

from pondero.dialects.dialect import DepthPlaces
from pondero.dialects.tables import DEPTH_NAMES

DEPTH = DepthPlaces(
    fields=(
        *DEPTH_NAMES,
        # Mistral, the switch of earlier Magistral models (mistralai types, 2026-11-15)
        ("prompt_mode",),
        # Templates of self-hosted models: each names its variables itself
        *(
            (template, name)
            for template in ("chat_template_kwargs", "chat_template_args")
            for name in (
                *("enable_thinking", "thinking", "reasoning_effort", "reasoning", "effort"),
                *("thinking_budget", "thinking_token_budget", "thinking_mode"),
                *("reasoning_budget", "low_effort", "medium_effort", "high_effort"),
            )
        ),
        # Google's compatible API reads extra_body as it is written (vendor page, 2026-11-15)
        ("extra_body",),
        ("google", "thinking_config"),
        ("extra_content", "google", "thinking_config"),
    ),
    # OpenRouter: Claude's output_config.effort (vendor page, parameters; enricoros/big-AGI#927,
    # 2026-11-16); at OpenAI the length of the answer. Its own names may lead to Claude.
    of_models=(("claude", ("verbosity",)), ("openrouter/", ("verbosity",))),
    # OpenRouter and NanoGPT, effort inside the conversation (vendor pages, 2026-10-26)
    turns="messages",
    in_turns=(("configuration_update", "reasoning", "effort"), ("output_config", "effort")),
    marks=("configuration_update", "output_config"),
)
