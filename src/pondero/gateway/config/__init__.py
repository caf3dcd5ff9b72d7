"""What gateway.toml says, and which model a name means."""
