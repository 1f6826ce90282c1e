"""One file a command, by its name; `question` makes one of every question that has none of its own."""
