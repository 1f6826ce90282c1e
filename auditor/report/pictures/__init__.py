"""What pictures are made of, on a terminal and in SVG."""
