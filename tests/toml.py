"""Writes TOML, for tests of what reads it."""

from __future__ import annotations

import json
from typing import Any


def value(data: Any) -> str:
    """A value in one line."""
    if isinstance(data, dict):
        return (
            "{" + ", ".join(f"{key} = {value(item)}" for key, item in data.items() if item is not None) + "}"
        )
    if isinstance(data, (list, tuple)):
        return "[" + ", ".join(value(item) for item in data) + "]"
    return json.dumps(data, ensure_ascii=False)


def table(data: dict[str, Any]) -> str:
    """The lines of a table."""
    return "".join(f"{key} = {value(item)}\n" for key, item in data.items() if item is not None)


def study(policy: Any = None, environment: Any = None, **head: Any) -> str:
    """An experiment file: one line per setting, defaults that make it complete."""
    head = {"horizon": 1000, "replications": 2} | head
    lists = {
        "policy": [{"kind": "tsallis-inf"}] if policy is None else policy,
        "environment": [{"kind": "bernoulli", "n_arms": 4, "gap": 0.2}]
        if environment is None
        else environment,
    }
    text = table(head)
    for name, tables in lists.items():
        for item in tables if isinstance(tables, list) else [tables]:
            text += f"[[{name}]]\n{table(item)}"
    return text
