"""How thinking signatures stay alive in clients' histories."""
