"""Where the files are that an experiment names: beside it or, for the copy in a study, where it came from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

MANIFEST = "manifest.json"


class Places(NamedTuple):
    """The folder of an experiment file; for the copy that a study keeps, also that of the original."""

    folder: Path
    origin: Path | None
    kept: bool
    """Is this the folder of a study?"""

    @classmethod
    def of(cls, folder: Path) -> Places:
        """Look whether the folder holds a study, and what its manifest says."""
        folder = folder.absolute()
        if not (folder / MANIFEST).is_file():
            return cls(folder, None, False)
        try:
            found = json.loads((folder / MANIFEST).read_bytes())["folder"]
        except (OSError, ValueError, LookupError, TypeError):
            return cls(folder, None, True)  # it is damaged: whoever needs it will tell
        return cls(folder, Path(found) if isinstance(found, str) else None, True)

    @property
    def original(self) -> Path:
        """The folder that the experiment was first read in."""
        return self.origin or self.folder

    def file(self, name: str) -> Path:
        """A data file: beside the experiment, else beside the original."""
        return self._first([self.folder / name], name)

    def module(self, name: str) -> Path:
        """A Python file; a study keeps its own copy."""
        kept = [self.folder / "modules" / f"{Path(name).stem}.py"] if self.kept else []
        return self._first([self.folder / name, *kept], name)

    def _first(self, places: list[Path], name: str) -> Path:
        places += [self.origin / name] if self.origin else []
        return next((place for place in places if place.exists()), places[0])

    def missed(self, name: str) -> str:
        """What to add where a file is not found."""
        if self.origin is None or Path(name).is_absolute():
            return ""
        return f"this is a copy of an experiment from {self.origin}, and {name} is not there either"
