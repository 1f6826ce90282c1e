"""What is audited: a function and its declarations, views and inputs, and when two outputs are the same."""
