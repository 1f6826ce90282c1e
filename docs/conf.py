"""The site: `nox -s docs`, or `sphinx-build -W docs docs/_build/html` where the extra `docs` is installed.

Pages of `reference/` have a heading and a few sentences; the rest is made from the code when the site is built.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import make_reference  # noqa: E402

from auditor import __version__  # noqa: E402

project = "reproducibility-auditor"
author = "the authors of reproducibility-auditor"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]
smartquotes = False  # --size is no dash
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
maximum_signature_line_length = 88

html_theme = "furo"
html_title = f"{project} {release}"
html_show_copyright = False
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True


def add_generated(_app: Any, page: str, content: list[str]) -> None:
    """Append to a page of the reference what is made from the code; reports are pages of the site too."""
    content[0] = content[0].replace("](../reports/", "](reports/")
    if page in make_reference.PAGES:
        content[0] += "\n" + make_reference.PAGES[page]()


def docstring_as_rst(_app: Any, _kind: str, _name: str, _found: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = make_reference.as_rst(lines)


def write_schema(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        schema = json.dumps(make_reference.record_schema(), indent=2)
        (Path(app.outdir) / "record.schema.json").write_text(schema + "\n")


def setup(app: Any) -> None:
    make_reference.write_commands(HERE / "reference" / "commands")
    make_reference.write_reports(HERE / "reports")
    app.connect("source-read", add_generated)
    app.connect("autodoc-process-docstring", docstring_as_rst)
    app.connect("build-finished", write_schema)
