"""Scenarios that hold a service, a recording or the emulator to its wire contract."""
