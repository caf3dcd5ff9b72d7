"""Rate limits and spend budgets."""
