"""Cohere's v2 chat."""
