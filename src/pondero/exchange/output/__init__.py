"""The shape of an answer: its schema fitted to the service, and the answer restored."""
