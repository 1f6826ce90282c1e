"""One file for each family of commands: parse, call the pipeline, draw, return the exit code."""
