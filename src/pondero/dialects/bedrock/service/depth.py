"""Where a request says how much to think, for a gateway that limits it."""

from pondero.dialects.dialect import DepthPlaces

DEPTH = DepthPlaces(
    # Converse passes additionalModelRequestFields on to the model's maker (boto3, 2026-11-15)
    fields=(
        ("outputConfig", "effort"),
        *(
            ("additionalModelRequestFields", *path)
            for path in (
                ("thinking", "type"),
                ("thinking", "budget_tokens"),
                ("output_config", "effort"),
                ("reasoning_config",),  # folded: Nova's reasoningConfig, too
                ("inference_config", "reasoning_config"),  # AWS, Nova 2 core inference
                ("messages",),  # a conversation of its own, whose turns may set a level
                ("reasoning_effort",),
                ("reasoning", "effort"),
                ("reasoning", "max_tokens"),
                ("reasoning", "enabled"),
                ("enable_thinking",),
                ("thinking_budget",),
                ("chat_template_kwargs",),
            )
        ),
    ),
)
