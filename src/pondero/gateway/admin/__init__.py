"""The admin API and the console drawn from it."""
