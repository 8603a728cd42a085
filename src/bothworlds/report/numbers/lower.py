"""Lower bounds of the worlds of a study, from what its manifest says of them."""

from __future__ import annotations

import math
from typing import Any

from bothworlds import environments
from bothworlds.errors import BothworldsError
from bothworlds.theory import lower_bound


def built_worlds(manifest: dict[str, Any]) -> list[Any]:
    """The environments themselves; None for one of a Python file of the study, or of another package."""
    return [_built(world["settings"]) for world in manifest["environments"]]


def _built(settings: dict[str, Any]) -> Any:
    try:
        return environments.from_dict(settings)
    except (BothworldsError, OSError, KeyError):  # kinds and data files may be missing here
        return None


def known_means(world: Any) -> list[float] | None:
    """Mean losses, where they stay the same."""
    means = None if world is None else world.mean_losses()
    return None if means is None else means.tolist()


def asymptotic_bounds(manifest: dict[str, Any]) -> dict[int, float]:
    """``constant``·log T of every cell whose world has one; see :func:`bothworlds.theory.lower_bound`."""
    constants = {
        number: lower_bound(world, horizon=1).constant
        for number, world in enumerate(built_worlds(manifest))
        if known_means(world) is not None
    }
    return {
        cell["cell"]: constants[cell["environment"]] * math.log(cell["horizon"])
        for cell in manifest["cells"]
        if cell["environment"] in constants
    }
