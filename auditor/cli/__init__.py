"""The commands, what becomes of what they say, and the pytest plugin."""
