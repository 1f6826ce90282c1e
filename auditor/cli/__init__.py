"""The commands, what they share, and pytest's plugin: whoever asks from outside Python."""
