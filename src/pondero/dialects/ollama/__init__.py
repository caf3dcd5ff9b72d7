"""Ollama's own API, /api/chat, as the local server and the cloud speak it."""
