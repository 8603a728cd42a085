"""The JSON schema of experiment files, for editors: completion, hover texts and warnings while typing.

``taplo`` and the editor extensions built on it ("Even Better TOML") read the line

    #:schema ./bothworlds.schema.json

at the top of a file. The schema knows every kind that is registered when it is written, those of installed
packages included, but not the ranges of numbers: those are checked when the file is read.
"""

from __future__ import annotations

import copy
from typing import Any

from pydantic import create_model

from bothworlds.experiments.models import Head, model_name, models, reference
from bothworlds.experiments.modules import load_plugins
from bothworlds.experiments.shapes import FAMILIES, shapes


def schema() -> dict[str, Any]:
    """A JSON schema (draft 2020-12) of experiment files.

    >>> sorted(schema()["required"])
    ['environment', 'horizon', 'policy', 'replications']
    """
    load_plugins()
    namespace = models().namespace
    tables: dict[str, Any] = {
        name: (list.__class_getitem__(namespace[reference(name)]), copy.copy(Head.model_fields[name]))
        for name in ("policy", "environment")
    }
    found = create_model("Experiment", __base__=Head, **tables).model_json_schema()
    definitions = found["$defs"]
    for family in reversed(FAMILIES):  # parts before what holds them
        for kind, cls in FAMILIES[family].registry.items():
            _fold(definitions, definitions[model_name(family, kind)], cls)
    for table in (found, *definitions.values()):
        for setting in table["properties"].values():
            if setting.get("default", "") in (None, ""):
                setting.pop("default", None)  # stands for: there is none
    found["description"] = "An experiment file of bothworlds."
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}


def _fold(definitions: dict[str, Any], table: dict[str, Any], cls: type) -> None:
    """Allow parts by their names, with their settings beside them."""
    properties = table["properties"]
    for key, shape in shapes(cls).items():
        if shape.family is None:
            continue
        kinds = sorted(FAMILIES[shape.family].registry)
        names = [model_name(shape.family, kind) for kind in kinds]
        one = [{"enum": kinds}, *({"$ref": f"#/$defs/{name}"} for name in names)]
        many = {"type": "array", "minItems": 1, "items": {"anyOf": one}}
        kept = {name: text for name, text in properties[key].items() if name in ("description", "title")}
        properties[key] = {"anyOf": [*one, many], **kept}
        for name in names:
            for setting, what in definitions[name]["properties"].items():
                if setting not in ("kind", "label"):
                    properties.setdefault(setting, what)
