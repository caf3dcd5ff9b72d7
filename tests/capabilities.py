"""What a service would reject, by the facts of the catalog alone."""

from pondero.thinking import Capability, Intent


def explain_rejection(intent: Intent, capability: Capability) -> str | None:
    """Return why the model rejects this intent; None if it accepts it."""
    match intent.kind:
        case "unset" | "native" | "auto":
            return None
        case "off":
            return None if capability.off else "thinking cannot be switched off"
        case "level" if intent.level in capability.tolerates:
            return None
        case _ if not capability.thinks:
            return "the model does not think"
        case "on":
            return None if capability.can_be_on else "on needs a depth"
        case "level":
            words = capability.efforts
            return None if intent.level in words else f"it has {' '.join(words) or 'no levels'}"
        case "budget":
            return _budget(intent.tokens or 0, capability)


def _budget(tokens: int, capability: Capability) -> str | None:
    budget = capability.budget
    if budget is None:
        return "it takes no number of tokens"
    if budget.min <= tokens <= budget.max or tokens in (budget.off, budget.dynamic):
        return None
    return f"it takes {budget.min:,} to {budget.max:,} tokens"
