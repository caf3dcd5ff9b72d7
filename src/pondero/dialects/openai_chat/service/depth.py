"""Where a request says how much to think, for a gateway that limits it."""

from pondero.dialects.dialect import DepthPlaces

DEPTH = DepthPlaces(
    fields=(
        # OpenAI and most others; Fireworks also takes a bool or a number there (2026-11-15)
        ("reasoning_effort",),
        # OpenRouter, Together, SGLang (openrouter 1.3.84 types, 2026-11-15)
        ("reasoning", "effort"),
        ("reasoning", "max_tokens"),
        ("reasoning", "enabled"),
        ("include_reasoning",),
        # DeepSeek, Z.ai, Moonshot, MiniMax, Fireworks, Anthropic's compatible API (2026-11-15)
        ("thinking", "type"),
        ("thinking", "budget_tokens"),
        ("output_config", "effort"),
        # DashScope, vLLM, llama.cpp, NVIDIA, Cerebras (their own pages and sources, 2026-11-15)
        ("enable_thinking",),
        ("thinking_budget",),
        ("thinking_token_budget",),
        ("thinking_budget_tokens",),
        ("reasoning_budget",),
        ("reasoning_budget_tokens",),
        ("disable_reasoning",),
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
    # OpenRouter and NanoGPT, effort inside the conversation (vendor pages, 2026-10-26)
    turns="messages",
    in_turns=(("configuration_update", "reasoning", "effort"), ("output_config", "effort")),
    marks=("configuration_update", "output_config"),
)
