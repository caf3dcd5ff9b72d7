"""The terminal chat: widgets draw what the reducer decided."""
