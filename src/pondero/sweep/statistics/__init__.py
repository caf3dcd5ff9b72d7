"""Pure functions: looks, intervals and decisions."""
