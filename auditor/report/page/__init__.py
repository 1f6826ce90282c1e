"""Records as one HTML file: `document` makes a page of sections, `records` the sections of records."""
