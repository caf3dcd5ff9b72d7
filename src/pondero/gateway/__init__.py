"""The gateway: clients of any wire in front, models of any provider behind, seals kept."""
