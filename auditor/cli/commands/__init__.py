"""One file a command, by its name; `check` makes one of every question that has none of its own."""
