"""The JSON schema of a pyproject.toml with [tool.auditor], for editors: `python -m auditor.cli.schema > FILE`.

Made from the table of options, so that an editor knows every key, what it takes and what it means. Other tables of the
file may have any keys: an editor holds a schema against the whole file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any, get_origin

from auditor.cli.config import ENDINGS, OWN, common_keys
from auditor.flow.question import check_table, find_question, registered_questions
from auditor.request import Listed, listed

_TYPES = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    tuple: "array",
}


def schema() -> dict[str, Any]:
    """Return the schema: the keys of all audits, and of one subject, whichever question it asks."""
    every = {
        name: one
        for question in registered_questions()
        for name, one in listed(find_question(question).Options).items()
    }
    options = {name: one for name, one in {**every, **check_table()}.items() if one.group and name != "confidence"}
    subject = _object({**options, **OWN}, required=["target"])
    subject["properties"]["expect"]["enum"] = [*ENDINGS]
    whole = _object(common_keys())
    whole["properties"]["subject"] = {"type": "array", "items": subject, "description": "The audits of a project."}
    tools = {"type": "object", "properties": {"auditor": whole}}
    title = "pyproject.toml with [tool.auditor]"
    draft = "http://json-schema.org/draft-07/schema#"
    return {"$schema": draft, "title": title, "type": "object", "properties": {"tool": tools}}


def _object(known: Mapping[str, Listed], **more: Any) -> dict[str, Any]:
    """Return the JSON schema of a table with these options."""
    properties = {one.key: _property(one) for one in sorted(known.values(), key=lambda one: one.key)}
    return {"type": "object", "additionalProperties": False, "properties": properties, **more}


def _property(one: Listed) -> dict[str, Any]:
    """Return what one key takes, and what it means."""
    types = [_TYPES.get(get_origin(kind) or kind) for kind in one.kinds]
    found: dict[str, Any] = {"description": one.words}
    if None not in types:  # one that takes anything
        found["type"] = types[0] if len(types) == 1 else types
    if isinstance(one.default, (bool, int, float, str)):
        found["default"] = one.default
    return found


if __name__ == "__main__":
    json.dump(schema(), sys.stdout, indent=2)
    print()
