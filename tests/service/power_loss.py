"""What a disk may hold after the power failed: of a journal that power_loss.c wrote, cut off anywhere.

What was synced is there. Of what was not, any part may be there, in any order, down to sectors: files that
were written, made longer or shorter, made, renamed or removed. A name is safe when its folder was synced,
or, as file systems of Linux have it, when a file that was made was.
"""

from __future__ import annotations

import os
import random
import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).parent / "power_loss.c"
HEAD = struct.Struct("=IIIIQQ")
SECTOR = 512


def compiled(folder):
    """The library to be loaded into a process."""
    library = folder / "power_loss.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE)], check=True)
    return library


def environment(library, folder, journal):
    """What a process needs to be watched."""
    return {"LD_PRELOAD": str(library), "DISK_FOLDER": os.path.realpath(folder), "DISK_JOURNAL": str(journal)}


def records(journal):
    """(kind, path, other path, offset, data or length) of all records that are whole."""
    data = memoryview(journal.read_bytes())
    at = 0
    while at + HEAD.size <= len(data):
        kind, n_path, n_other, _, offset, length = HEAD.unpack_from(data, at)
        names = at + HEAD.size
        at = names + n_path + n_other + (length if chr(kind) == "w" else 0)
        if at > len(data):
            return
        path = bytes(data[names : names + n_path]).decode()
        other = bytes(data[names + n_path : names + n_path + n_other]).decode()
        yield chr(kind), path, other, offset, bytes(data[names + n_path + n_other : at])


class File:
    """What is on disk of a file, and what was written since."""

    def __init__(self, source=None):
        self.source = source  # where it was before the journal began
        self._synced = bytearray() if source is None else None
        self.pending = []

    @property
    def synced(self):
        if self._synced is None:
            self._synced = bytearray(self.source.read_bytes())
        return self._synced

    def sync(self):
        for change in self.pending:
            apply(self.synced, *change)
        self.pending = []

    def survivor(self, chance):
        """Its content after a loss of power; None where nothing has changed."""
        if self._synced is None and not self.pending:
            return None
        content = bytearray(self.synced)
        if chance is not None:
            for change in self.pending:
                for part in torn(change, chance):
                    apply(content, *part)
        return content


def apply(content, kind, offset, data):
    """A change of a file: written, cut off or made longer, made room for."""
    if kind == "w":
        if len(content) < offset:
            content.extend(bytes(offset - len(content)))
        content[offset : offset + len(data)] = data
    elif kind == "t":
        del content[offset:]
        content.extend(bytes(offset - len(content)))
    elif len(content) < offset:
        content.extend(bytes(offset - len(content)))


def torn(change, chance):
    """All of a change, none of it, or some of its sectors."""
    kind, offset, data = change
    fate = chance.choice(("whole", "none", "sectors"))
    if fate == "whole" or (fate == "sectors" and kind != "w"):
        yield change
    elif fate == "sectors":
        begin = offset
        while begin < offset + len(data):
            end = min(offset + len(data), (begin // SECTOR + 1) * SECTOR)
            if chance.random() < 0.5:
                yield "w", begin, data[begin - offset : end - offset]
            begin = end


class Disk:
    """Files under a folder, as they were, and what a journal does to them.

    Parameters
    ----------
    folder:
        That which processes saw, by the name that they had for it.
    before:
        A copy of what was in it when the journal began; None: nothing.
    strict:
        Is a file that was synced, and whose folder was not, without a name?
    """

    def __init__(self, folder, before=None, *, strict):
        self.folder = os.path.realpath(folder)
        self.strict = strict
        self.before = before
        self.names, self.entries = {}, {}  # those that processes see, those that are on disk
        self.unsynced = []  # changes of names, in their order
        self.folders = set()
        if before is not None:
            for path in before.rglob("*"):
                name = os.path.join(self.folder, path.relative_to(before))
                if path.is_dir():
                    self.folders.add(name)
                elif path.is_file():
                    self.names[name] = self.entries[name] = File(path)

    def play(self, kind, path, other, offset, data):
        """A record of the journal."""
        if kind in "wta":
            if path not in self.names:
                self._create(path)  # by a call that is not watched
            self.names[path].pending.append((kind, offset, data))
        elif kind == "c" and path not in self.names:
            self._create(path)
        elif kind == "s":
            self._sync(path)
        elif kind == "u":
            self.names.pop(path, None)
            self.unsynced.append(("u", path, path, None))
        elif kind in "rl" and path in self.names:
            self.names[other] = self.names[path]
            if kind == "r":
                del self.names[path]
            self.unsynced.append((kind, path, other, self.names[other]))
        elif (
            kind == "r"
        ):  # written by stdio, which is not watched: PostgreSQL so writes what it can do without
            assert path not in self.folders, f"{path} was renamed to {other}"
            self.names.pop(other, None)
            self.unsynced.append(("u", other, other, None))
        elif kind == "m":
            self.folders.add(path)  # folders are taken to last
        elif kind == "R":
            self.folders.discard(path)

    def seen(self, path):
        """The content of a file as processes saw it."""
        file = self.names[os.path.realpath(path)]
        content = bytearray(file.synced)
        for change in file.pending:
            apply(content, *change)
        return bytes(content)

    def _create(self, path):
        self.names[path] = File()
        self.unsynced.append(("c", path, path, self.names[path]))

    def _sync(self, path):
        if path in self.names:
            file = self.names[path]
            file.sync()
            if not self.strict:
                self._settle(lambda change: change[0] == "c" and change[3] is file)
        else:
            self._settle(lambda change: os.path.dirname(change[2]) == path)

    def _settle(self, chosen):
        left = []
        for change in self.unsynced:
            if chosen(change):
                rename(self.entries, *change)
            else:
                left.append(change)
        self.unsynced = left

    def write(self, target, chance):
        """A folder with what is left if the power fails here: what was synced, and by chance more."""
        if target.exists():
            shutil.rmtree(target)
        if self.before is None:
            target.mkdir(parents=True)
        else:
            shutil.copytree(self.before, target, symlinks=True)
        entries = dict(self.entries)
        for change in self.unsynced:
            if chance is not None and chance.random() < 0.5:
                rename(entries, *change)
        for name in self.folders:
            (target / os.path.relpath(name, self.folder)).mkdir(parents=True, exist_ok=True)
        if self.before is not None:
            for path in self.before.rglob("*"):
                name = os.path.join(self.folder, path.relative_to(self.before))
                if path.is_file() and name not in entries:
                    (target / path.relative_to(self.before)).unlink()
        for name, file in entries.items():
            content = file.survivor(chance)
            place = target / os.path.relpath(name, self.folder)
            if content is not None:
                place.write_bytes(content)
            elif file.source != self.before / os.path.relpath(name, self.folder):  # it has another name now
                shutil.copy2(file.source, place)


def rename(entries, kind, path, other, file):
    """A change of names."""
    if kind == "u":
        entries.pop(path, None)
    elif kind == "c":
        entries[path] = file
    else:
        if kind == "r":
            entries.pop(path, None)
        entries[other] = file


def cuts(journal, disk, places, seed):
    """Play a journal; at each of these places (numbers of records) yield the place, and a chance or None."""
    chance = random.Random(seed)
    wanted = sorted(places)
    for number, record in enumerate(records(journal)):
        while wanted and wanted[0] <= number:
            yield wanted.pop(0), random.Random(chance.random()) if chance.random() < 0.7 else None
        disk.play(*record)
    for place in wanted:
        yield place, random.Random(chance.random()) if chance.random() < 0.7 else None
