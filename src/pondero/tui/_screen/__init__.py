"""The screen of the chat, drawn with textual: the only part of pondero that needs it."""
