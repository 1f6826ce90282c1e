"""Where samples come from: distributions, data sets, finite laws, counts."""
