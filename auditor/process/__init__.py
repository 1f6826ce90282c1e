"""What keeps foreign code apart from ours: calls, state, streams, limits, and a parent that waits."""
