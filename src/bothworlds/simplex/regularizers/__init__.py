"""Regularizers: one file and one line of the table below each."""

from __future__ import annotations

from bothworlds.simplex.regularizers.base import Constants, Regularizer
from bothworlds.simplex.regularizers.centred_tsallis import CentredTsallis
from bothworlds.simplex.regularizers.complement_barrier import ComplementBarrier
from bothworlds.simplex.regularizers.hybrid import Hybrid
from bothworlds.simplex.regularizers.log_barrier import LogBarrier
from bothworlds.simplex.regularizers.shannon import Shannon
from bothworlds.simplex.regularizers.tsallis import Tsallis

REGISTRY: dict[str, type[Regularizer]] = {
    "log-barrier": LogBarrier,
    "tsallis": Tsallis,
    "centred-tsallis": CentredTsallis,
    "shannon": Shannon,
    "hybrid": Hybrid,
}

__all__ = [
    "REGISTRY",
    "CentredTsallis",
    "ComplementBarrier",
    "Constants",
    "Hybrid",
    "LogBarrier",
    "Regularizer",
    "Shannon",
    "Tsallis",
]
