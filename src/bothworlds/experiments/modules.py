"""What comes from outside the package: Python files named in an experiment, and entry points.

A file is run from a copy in the cache folder that is named by a hash of its content. So a worker on another
machine needs nothing but the source, the module has the same name and path in every process (classes can
be pickled), and kernels compiled for it are found again on disk as long as it is not edited.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import inspect
import os
import re
import sys
import tempfile
import threading
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from bothworlds import environments, policies
from bothworlds._code_cache import cache_directory
from bothworlds._jit import originals
from bothworlds._value import Value, families, register

PREFIX = "bothworlds_study_"
GROUPS = {"bothworlds.policies": policies, "bothworlds.environments": environments}
_lock = threading.RLock()
_registered: dict[str, list[tuple[str, type[Value]]]] = {}
"""What each module registered, kind and class, by the name of the module."""


class Module(NamedTuple):
    """A Python file of a study: its name without ``.py``, and its content."""

    name: str
    source: str

    @property
    def sha256(self) -> str:
        """The hash of the content."""
        return hashlib.sha256(self.source.encode()).hexdigest()

    @property
    def import_name(self) -> str:
        """What it is called in ``sys.modules``: another version of the file is another module."""
        return f"{PREFIX}{self.name}_{self.sha256[:16]}"


def load_module(module: Module) -> None:
    """Run a module, once per process, and register its policies, environments and parts.

    Classes that the module did not register itself are registered under their name in lower case with
    hyphens. Raises what the module raises, or ``InvalidArgumentError`` for a kind that is taken; then nothing
    of the module is registered.
    """
    with _lock:
        if module.import_name not in _registered:
            _registered[module.import_name] = _run(module)
        _forget_other_versions(module)
        for kind, cls in _registered[module.import_name]:
            register(cls, kind)


def _forget_other_versions(module: Module) -> None:
    """Free the kinds of an earlier version of the file (edited in a notebook, say)."""
    start = f"{PREFIX}{module.name}_"
    for family in families():
        for kind, cls in list(family.registry.items()):
            if cls.__module__ != module.import_name and re.fullmatch(start + "[0-9a-f]{16}", cls.__module__):
                del family.registry[kind]


def _run(module: Module) -> list[tuple[str, type[Value]]]:
    before = {family: dict(family.registry) for family in families()}
    _forget_other_versions(module)
    try:
        python = _import(module)
        for name, value in vars(python).items():
            if (
                inspect.isclass(value)
                and issubclass(value, Value)
                and value.__module__ == python.__name__
                and not inspect.isabstract(value)
                and value not in value.registry.values()
            ):
                register(value, kind_of(name))
        return [
            (kind, cls)
            for family, known in before.items()
            for kind, cls in family.registry.items()
            if known.get(kind) is not cls
        ]
    except BaseException:
        sys.modules.pop(module.import_name, None)
        for family, known in before.items():
            family.registry.clear()
            family.registry.update(known)
        raise


def _import(module: Module) -> ModuleType:
    file = _file(module)
    originals[str(file)] = f"{module.name}.py"
    spec = importlib.util.spec_from_file_location(module.import_name, file)
    assert spec is not None
    assert spec.loader is not None
    python = importlib.util.module_from_spec(spec)
    sys.modules[module.import_name] = python  # before it runs: dataclasses look their module up
    spec.loader.exec_module(python)
    return python


def _file(module: Module) -> Path:
    """The copy of the source in the cache folder, written whole or not at all."""
    path = cache_directory() / "modules" / f"{module.import_name}.py"
    if not path.is_file() or path.read_text(encoding="utf-8") != module.source:
        path.parent.mkdir(exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(module.source)
        os.replace(temporary, path)
    return path


def kind_of(name: str) -> str:
    """A class name in lower case with hyphens.

    >>> kind_of("FollowTheLeader"), kind_of("MyUCB2"), kind_of("LSTMPolicy")
    ('follow-the-leader', 'my-ucb2', 'lstm-policy')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower().strip("_")


class Plugins(NamedTuple):
    """What installed packages brought: the distribution behind a kind, and why others failed."""

    packages: dict[tuple[str, str], tuple[str, str]]
    failures: dict[tuple[str, str], str]


@functools.cache
def load_plugins() -> Plugins:
    """Register the entry points of the groups ``bothworlds.policies`` and ``bothworlds.environments``.

    One that cannot be loaded is no mistake of a file that does not use it: it is remembered, not raised.
    """
    found = Plugins({}, {})
    for group, registry in GROUPS.items():
        for point in entry_points(group=group):
            origin = (point.dist.name, point.dist.version) if point.dist else (point.value, "")
            try:
                registry.register(point.name, point.load())
                found.packages[group, point.name] = origin
            except Exception as error:  # whatever a package raises when it is imported
                found.failures[group, point.name] = (
                    f"The package {origin[0]} offers it, but fails to load: {type(error).__name__}: {error}"
                )
    return found
