"""Processes that run somebody else's code: how they are started, asked, limited, killed and reaped."""
