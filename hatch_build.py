"""The description of a wheel: README without links that lead nowhere outside the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE = re.compile(r"\[([^\]]+)\]\((?!https?:)([^)#\s]+)[^)]*\)")


def described(readme: str) -> str:
    """README where the description of a package is shown: links to its files become their names.

    >>> described("[arms](docs/arms.md) of [a paper](https://arxiv.org/abs/2302.13534)")
    'arms (docs/arms.md) of [a paper](https://arxiv.org/abs/2302.13534)'
    """
    return RELATIVE.sub(lambda link: link[1] if link[1] in link[2] else f"{link[1]} ({link[2]})", readme)


class Description(MetadataHookInterface):
    """Puts it into the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling."""
        text = described((Path(self.root) / "README.md").read_text(encoding="utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
