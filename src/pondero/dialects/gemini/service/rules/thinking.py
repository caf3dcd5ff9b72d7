"""The rules of thinkingConfig."""

from .facts import RequestFacts


def check(asked: RequestFacts) -> bool:
    """Return whether the model will think, or raise Rejected."""
    thinking, model = asked.config.thinking_config, asked.model
    level, budget = thinking.thinking_level, thinking.thinking_budget
    if level == "THINKING_LEVEL_UNSPECIFIED":
        level = None
    if level is not None and budget is not None:
        asked.reject("both")
    thinks = model.thinks
    if level is not None:
        _check_level(level, asked)
        thinks = True
    elif budget is not None:
        _check_budget(budget, asked)
        thinks = budget != 0
    if thinking.include_thoughts and not thinks:
        asked.reject("thoughts_off" if model.can_think else "no_thinking")
    return thinks


def _check_level(level: str, asked: RequestFacts) -> None:
    if not asked.model.levels:
        asked.reject("no_level" if asked.model.budget else "no_thinking")
    if level not in asked.model.levels:
        asked.reject("level", level=level)


def _check_budget(budget: int, asked: RequestFacts) -> None:
    model = asked.model
    if budget == 0 and model.zero:
        return
    if model.budget is None:
        asked.reject("no_budget" if model.levels else "no_thinking")
    if budget == -1:
        return
    if budget == 0:
        asked.reject("budget_zero")
    least, most = model.budget
    if not least <= budget <= most:
        asked.reject("budget", budget=budget, min=0 if model.zero else least, max=most)
