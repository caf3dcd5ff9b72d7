"""What the chat draws."""
