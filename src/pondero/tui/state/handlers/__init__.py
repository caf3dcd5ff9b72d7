"""What each action does to the state, by subject."""
