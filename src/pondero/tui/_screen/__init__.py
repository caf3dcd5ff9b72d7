"""The screen of the chat, drawn with textual, and the plain chat, which needs nothing."""
