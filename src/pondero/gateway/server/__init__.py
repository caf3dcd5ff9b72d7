"""The gateway as a server: the application, its shared context, and its processes."""
