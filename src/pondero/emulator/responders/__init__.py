"""What the emulator answers: the built-in responder, scripts and an error-prone one."""
