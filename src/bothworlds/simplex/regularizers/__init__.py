"""Regularizers: a file each, and a line below."""

from __future__ import annotations

from bothworlds.simplex.regularizers.base import Constants as Constants
from bothworlds.simplex.regularizers.base import Regularizer as Regularizer
from bothworlds.simplex.regularizers.centered_tsallis import CenteredTsallis as CenteredTsallis
from bothworlds.simplex.regularizers.complement_barrier import ComplementBarrier as ComplementBarrier
from bothworlds.simplex.regularizers.complement_tsallis import ComplementTsallis as ComplementTsallis
from bothworlds.simplex.regularizers.hybrid import Hybrid as Hybrid
from bothworlds.simplex.regularizers.log_barrier import LogBarrier as LogBarrier
from bothworlds.simplex.regularizers.shannon import Shannon as Shannon
from bothworlds.simplex.regularizers.tsallis import Tsallis as Tsallis

REGISTRY = Regularizer.registry
