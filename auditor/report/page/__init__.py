"""Records as one HTML file: no request to anywhere, and nothing of it needs a script to be read.

    page("Title", Section("What came out", [Words("..."), Chart(...)]), ...)

Whatever is made of the parts of flow/parts.py can be shown; pieces.py has those that only a page has.
"""

from auditor.report.page.document import Section as Section
from auditor.report.page.document import page as page
