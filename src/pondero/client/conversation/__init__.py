"""Conversations: chat, its turns, and how they are recorded and saved."""
