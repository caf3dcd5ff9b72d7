"""What a conversation does next: a pure reducer, slash commands and effects."""
