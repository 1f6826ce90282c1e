"""The commands, what they share, and the pytest plugin."""
