"""What differs between two plain values, in words."""

from __future__ import annotations

import json
from typing import Any

WIDTH = 60
NOTHING = object()


def differences(there: Any, here: Any, place: str = "") -> list[str]:
    """One line per setting that differs: where, what a folder has, what was asked for.

    >>> differences({"seed": 1, "policies": [{"beta": 0.3}]}, {"seed": 2, "policies": [{"beta": 0.3}, {}]})
    ['policies[1]: nothing there, {} here', 'seed: 1 there, 2 here']
    """
    if isinstance(there, dict) and isinstance(here, dict):
        found = []
        for key in sorted(there.keys() | here.keys(), key=str):
            name = f"{place}.{key}" if place else str(key)
            found += differences(there.get(key, NOTHING), here.get(key, NOTHING), name)
        return found
    if isinstance(there, list) and isinstance(here, list) and _tables(there + here):
        found = []
        for k in range(max(len(there), len(here))):
            ours, theirs = (side[k] if k < len(side) else NOTHING for side in (here, there))
            found += differences(theirs, ours, f"{place}[{k}]")
        return found
    if type(there) is type(here) and there == here:
        return []
    return [f"{place}: {_short(there)} there, {_short(here)} here"]


def _tables(values: list[Any]) -> bool:
    return any(isinstance(value, (dict, list)) for value in values)


def _short(value: Any) -> str:
    if value is NOTHING:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"
