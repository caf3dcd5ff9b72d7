"""Chat Completions: OpenAI's wire, which others copied; how a deployment differs is data."""
