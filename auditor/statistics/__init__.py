"""How sure can one be? Pure functions, each with its inequality: no I/O, no randomness."""
