"""Stores of made-up studies whose laws are known: what a run would have written, without running anything.

The regret of a policy is a sum of independent Gamma increments with mean ``scale·(f(t) − f(0))`` for the law
f of that policy in that kind of world, times a factor of mean 1 that all policies of a replication share
(common random numbers). Adversarial worlds add a random walk of mean 0, so that regret may be negative.

    folder = write_store(tmp_path / "out")                       # 5 policies × 4 worlds × 2 horizons
    folder = write_store(tmp_path / "out", many(1000), replications=16)
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bothworlds.experiments.store.chunk import KEY, SCHEMA

LAWS = {
    "bounded": lambda t: -1.0 / np.sqrt(1.0 + t),
    "log T": np.log1p,
    "√T": np.sqrt,
    "T": lambda t: 1.0 * t,
}
FINGERPRINT = "f" * 64


@dataclass(frozen=True)
class FakePolicy:
    """A policy by its mean regret: (law, scale) in worlds with gaps, and in those without."""

    label: str
    kind: str
    with_gaps: tuple[str, float]
    without: tuple[str, float]
    swept: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FakeWorld:
    """A world; ``gaps=None``: adversarial; ``ends``: the log ends after this share of the horizon.

    ``beaten``: every policy beats the best fixed arm by so much in a round.
    """

    label: str
    kind: str
    n_arms: int = 4
    gaps: tuple[float, ...] | None = None
    corruption: float = 0.0
    hardness: float = 1.0
    ends: float | None = None
    beaten: float = 0.0
    swept: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FakeStudy:
    """Everything but the numbers of replications and horizons."""

    policies: tuple[FakePolicy, ...]
    worlds: tuple[FakeWorld, ...]


POLICIES = (
    FakePolicy("FTRL Tsallis β=0.3", "ftrl", ("log T", 8.0), ("√T", 2.0), {"beta": 0.3}),
    FakePolicy("FTRL Tsallis β=0.5", "ftrl", ("log T", 6.0), ("√T", 1.5), {"beta": 0.5}),
    FakePolicy("UCB1", "ucb1", ("log T", 5.0), ("T", 0.3)),
    FakePolicy("Decoupled", "decoupled-tsallis-inf", ("bounded", 40.0), ("√T", 1.2)),
    FakePolicy("Uniform & idle_100%", "uniform", ("T", 0.1), ("T", 0.4)),
)
WORLDS = (
    FakeWorld("Bernoulli gap=0.1", "bernoulli", gaps=(0.0, 0.1, 0.1, 0.1), hardness=2.0, swept={"gap": 0.1}),
    FakeWorld("Bernoulli gap=0.2", "bernoulli", gaps=(0.0, 0.2, 0.2, 0.2), swept={"gap": 0.2}),
    FakeWorld("Switching", "switching", n_arms=3),
    FakeWorld("Corrupted", "corrupted", gaps=(0.0, 0.0, 0.2, 0.2), corruption=100.0),
)
LOGGED = FakeWorld("Log", "logged", n_arms=3, ends=0.5)
STANDARD = FakeStudy(POLICIES, WORLDS)


def many(cells: int, policies: int = 10) -> FakeStudy:
    """A sweep of that many cells at one horizon: ``policies`` values of β in ever more Bernoulli worlds."""
    betas = [round(0.05 + 0.9 * i / policies, 3) for i in range(policies)]
    worlds = -(-cells // policies)
    return FakeStudy(
        tuple(
            FakePolicy(f"FTRL Tsallis β={b}", "ftrl", ("log T", 4 + 4 * b), ("√T", 1 + b), {"beta": b})
            for b in betas
        ),
        tuple(
            FakeWorld(
                f"Bernoulli gap={0.001 * (i + 1):.3f}",
                "bernoulli",
                gaps=(0.0, 0.001 * (i + 1)),
                n_arms=2,
                swept={"gap": round(0.001 * (i + 1), 3)},
            )
            for i in range(worlds)
        ),
    )


def marks_of(horizon: int, checkpoints: int) -> np.ndarray:
    """Rounds evenly spaced on a log scale, the last one included."""
    return np.unique(np.geomspace(1, horizon, checkpoints).round().astype(np.int64))


def mean_regret(policy: FakePolicy, world: FakeWorld, rounds: np.ndarray) -> np.ndarray:
    """The mean of the made-up regret, exactly (of ``clean_regret``, where there is corruption)."""
    law, scale = policy.with_gaps if world.gaps is not None else policy.without
    return world.hardness * scale * (LAWS[law](1.0 * rounds) - LAWS[law](0.0))


def draw(study: FakeStudy, cell: dict[str, Any], replication: int, rounds: np.ndarray, seed: int):
    """One replication: regret, clean regret (None without corruption) and loss at the checkpoints."""
    policy, world = study.policies[cell["policy"]], study.worlds[cell["environment"]]
    common = np.random.default_rng([seed, 1, cell["environment"], replication])
    own = np.random.default_rng([seed, 2, cell["policy"], cell["environment"], replication])
    factor = common.gamma(50.0, 1 / 50.0)  # mean 1, shared by all policies of the replication
    walk = np.cumsum(common.normal(size=rounds.size) * np.sqrt(np.diff(rounds, prepend=0)))
    increments = np.diff(mean_regret(policy, world, rounds), prepend=0.0)
    clean = factor * np.cumsum(own.gamma(increments / 0.5, 0.5))
    regret = clean.copy()
    if world.gaps is None:
        regret += 0.3 * walk - world.beaten * rounds
    if world.corruption:
        regret += np.minimum(0.5 * rounds, world.corruption)
    loss = regret + 0.4 * rounds
    if world.ends is not None:
        over = rounds > world.ends * cell["horizon"]
        regret[over] = clean[over] = loss[over] = np.nan
    return regret, clean if world.corruption else None, loss


def _entry(part: FakePolicy | FakeWorld) -> dict[str, Any]:
    return {
        "label": part.label,
        "kind": part.kind,
        "settings": dict(part.swept),
        "swept": dict(part.swept),
        "repr": part.label,
    }


def _cells(study: FakeStudy, horizons: tuple[int, ...]) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = []
    for e, world in enumerate(study.worlds):
        gaps = world.gaps
        for horizon in horizons:
            for p in range(len(study.policies)):
                cells.append(
                    {
                        "cell": len(cells),
                        "policy": p,
                        "environment": e,
                        "horizon": horizon,
                        "n_arms": world.n_arms,
                        "gaps": None if gaps is None else list(gaps),
                        "optimal": None if gaps is None else [i for i, gap in enumerate(gaps) if gap == 0.0],
                        "corruption": None if gaps is None else world.corruption,
                        "spread": None if gaps is None else 0.0,
                    }
                )
    return cells


def _plan(n_cells: int, replications: int, per_chunk: int, backwards: bool) -> list[list[list[int]]]:
    """The first cell is split by replications, the others share chunks."""
    half = replications // 2
    chunks = [[[0, 0, half]], [[0, half, replications]]] if half else [[[0, 0, replications]]]
    rest = list(range(1, n_cells))[:: -1 if backwards else 1]
    chunks += [
        [[cell, 0, replications] for cell in rest[i : i + per_chunk]] for i in range(0, len(rest), per_chunk)
    ]
    return chunks


def _manifest(
    study: FakeStudy, horizons: tuple[int, ...], replications: int, seed: int, cut: tuple[int, bool]
) -> dict[str, Any]:
    cells = _cells(study, horizons)
    chunks = _plan(len(cells), replications, *cut)
    policies = [_entry(policy) | {"draws": 1} for policy in study.policies]
    environments = [
        _entry(world)
        | {"n_arms": world.n_arms, "regret_kind": "pseudo-regret: sum of the gaps of the arms played"}
        for world in study.worlds
    ]
    run = {
        "started": "2026-01-01T00:00:00Z",
        "finished": "2026-01-01T00:01:00Z",
        "command": ["bothworlds", "run", "study.toml", "--out", "out"],
        "host": "nowhere",
        "cpu": "abacus",
        "cores": 2,
        "python": "3.13.0",
        "packages": {"numpy": "2.4.6", "numba": "0.68.0"},
        "commit": None,
        "jobs": 2,
        "executor": "processes",
        "chunks_run": len(chunks),
        "chunks_reused": 0,
        "chunks_set_aside": 0,
        "seconds": 60.0,
        "kernel_seconds": 55.0,
    }
    return {
        "format": 1,
        "version": "0.1.0",
        "sources": "0" * 16,
        "fingerprint": FINGERPRINT,
        "meaning": {},
        "title": "A made-up study",
        "description": "Curves whose laws are known.",
        "seed": seed,
        "replications": replications,
        "record": ["regret", "probabilities"],
        "tell_horizon": True,
        "policies": policies,
        "environments": environments,
        "cells": cells,
        "chunks": chunks,
        "runs": [run],
    }


def _chunk(
    study: FakeStudy, manifest: dict[str, Any], number: int, checkpoints: int, probabilities: bool
) -> bytes:
    """The bytes of one chunk file."""
    parts: dict[str, list[Any]] = {name: [] for name in SCHEMA.names}
    for index, first, stop in manifest["chunks"][number]:
        cell = manifest["cells"][index]
        rounds, n = marks_of(cell["horizon"], checkpoints), cell["n_arms"]
        for replication in range(first, stop):
            regret, clean, loss = draw(study, cell, replication, rounds, manifest["seed"])
            parts["cell"] += [index] * rounds.size
            parts["replication"] += [replication] * rounds.size
            parts["round"] += rounds.tolist()
            parts["regret"] += regret.tolist()
            parts["clean_regret"] += [None] * rounds.size if clean is None else clean.tolist()
            parts["loss"] += loss.tolist()
            best = 1.0 - (1.0 - 1.0 / n) / np.sqrt(rounds)
            parts["p"] += (
                [[b] + [(1.0 - b) / (n - 1)] * (n - 1) for b in best.tolist()]
                if probabilities and replication == 0
                else [None] * rounds.size
            )
    timed = [
        [index, first, stop, 1e-8 * (stop - first) * manifest["cells"][index]["horizon"]]
        for index, first, stop in manifest["chunks"][number]
    ]
    note = {"chunk": number, "fingerprint": manifest["fingerprint"], "jobs": timed, "host": "nowhere"}
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, SCHEMA, compression="zstd") as writer:
        writer.write_table(pa.table(parts, schema=SCHEMA))
        writer.add_key_value_metadata({KEY: json.dumps(note)})
    return buffer.getvalue()


def write_store(
    folder: Path,
    study: FakeStudy = STANDARD,
    *,
    horizons: tuple[int, ...] = (1000, 10_000),
    replications: int = 16,
    checkpoints: int = 60,
    seed: int = 1,
    missing: Collection[int] = (),
    per_chunk: int = 3,
    backwards: bool = False,
    probabilities: bool = True,
) -> Path:
    """Write the folder of a finished study (but for the chunks numbered in ``missing``), and return it."""
    manifest = _manifest(study, horizons, replications, seed, (per_chunk, backwards))
    (folder / "chunks").mkdir(parents=True)
    (folder / "experiment.toml").write_text('title = "A made-up study"\n', encoding="utf-8")
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    for number in range(len(manifest["chunks"])):
        if number not in missing:
            data = _chunk(study, manifest, number, checkpoints, probabilities)
            name = f"{number:05d}-{hashlib.sha256(data).hexdigest()[:16]}.parquet"
            (folder / "chunks" / name).write_bytes(data)
    return folder
