"""Anthropic's Messages API, as Anthropic, Vertex, Azure and others speak it."""
