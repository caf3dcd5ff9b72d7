"""Hooks: the operator's own code between clients and models."""
