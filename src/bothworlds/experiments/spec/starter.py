"""The file that ``bothworlds new`` writes."""

from __future__ import annotations

STARTER = """\
# An experiment file of bothworlds. Run it with:  bothworlds run {name} --out {folder}
# Everything after a '#' is a comment. docs/file-format.md describes all that can stand here.

title = "My first study"
description = "Which policy survives which world?"

horizon = 10_000          # rounds of a run; a list, e.g. [1_000, 10_000], is a sweep over horizons
replications = 16         # independent runs of every policy in every world
seed = 1                  # the same seed gives the same numbers, to the bit, on any number of workers

# What may be left out, with its default:
# checkpoints = 100                       # results are kept at so many rounds, on a log scale; or [10, 1_000]
# record = ["regret", "probabilities"]    # probabilities: those of the arms, in the first replication
# evidence = false                        # true: look at what could be concluded at every checkpoint
# tell_horizon = true                     # false: policies play without knowing how long the run is
# modules = []                            # Python files with policies and worlds of your own


# --- policies: `bothworlds policies` lists them all -------------------------------------------------------

[[policy]]
kind = "watched"          # the default of a Bandit: a watch over ...
policy = "insured-sampler"

[[policy]]
kind = "light-barrier"

[[policy]]
kind = "ftrl"             # the algorithm of the paper, with one of its regularizers
regularizer = "tsallis"   # or "log-barrier", "shannon", ...
beta = [0.3, 0.7]         # a list is a sweep: this table makes two policies
constants = "light"       # or "paper": the theorem's, for very long runs

[[policy]]
kind = "tsallis-inf"

[[policy]]
kind = "ucb1"
label = "UCB"             # how it is called in tables and figures

# --- worlds: `bothworlds environments` lists them all -----------------------------------------------------

[[environment]]
kind = "bernoulli"        # independent losses 0 or 1
n_arms = 8
gap = 0.2                 # how much worse the other arms are than the best
optimal = [1, 4]          # how many arms are best; two worlds

[[environment]]
kind = "stochastically-constrained"   # the best arm stays the best, while all means jump together
n_arms = 8
gap = 0.2

# [[environment]]
# kind = "corrupted"        # an adversary changes the losses of another world, within a budget
# budget = [100, 1_000]
# base = {{ kind = "bernoulli", n_arms = 8, gap = 0.2 }}
"""


def starter_text(*, name: str = "study.toml", folder: str = "results") -> str:
    """A commented experiment file that runs as it is, in a few seconds once its kernels are compiled.

    >>> from bothworlds.experiments.spec import parse
    >>> len(parse(starter_text()).cells())
    18
    """
    return STARTER.format(name=name, folder=folder)
