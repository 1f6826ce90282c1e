"""Runs of a pair with one cause of a difference taken away: hidden state, hash seeds, threads, draws out of step."""
