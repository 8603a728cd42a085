"""``Bandit.learn``: to begin with what others have tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bothworlds._jit import FloatArray, IntArray, entry
from bothworlds._words import counted
from bothworlds.bandit.feedback import Range
from bothworlds.errors import InvalidArgumentError, SolverError
from bothworlds.inference.log import ACTION, COUNT, PROPENSITY, REWARD, LogReader
from bothworlds.policies.base import Policy, after_draw, before_draw, learn, memo_of, step, weighs
from bothworlds.rng import from_dict, to_dict
from bothworlds.simplex.kernel import FAILED
from bothworlds.statefile import clone_state

if TYPE_CHECKING:
    from bothworlds.bandit.bandit import Bandit


@entry
def learn_rows(
    params: Any, state: Any, uniforms: FloatArray, arms: IntArray, losses: FloatArray, weights: FloatArray
) -> int:
    """Rounds that others have played, an observation each; how many went well before one failed."""
    for i in range(arms.size):
        before_draw(params, state, 0, uniforms[i, :0])  # all arms are awake
        memo = memo_of(params, state, arms[i], uniforms[i])
        after_draw(params, state, arms[i])
        learn(params, state, arms[i], losses[i], weights[i], memo)
        if step(params, state) == FAILED:
            return i
    return arms.size


def learn_log(bandit: Bandit, log: Any, missing: Literal["ignorable"] | None) -> int:
    """Let a bandit learn the rows of a log, all or none; return how many."""
    policy, scale = bandit._policy, bandit._range
    if not isinstance(scale, Range):
        fix = "make the bandit with high=..."
        raise InvalidArgumentError("log", log, "for a bandit whose range is known", fix=fix)
    if policy.decoupled:
        wanted = "for a policy that shows the arm it plays"
        raise InvalidArgumentError("log", log, wanted, got=f"one for {policy!r}", fix="choose another policy")
    reader = LogReader(
        log,
        needs=(ACTION, REWARD),
        may_have=(PROPENSITY, COUNT),
        low=scale.low,
        high=scale.high,
        arms=bandit.arms,
        missing=missing,
    )
    divides = bool(weighs(bandit._params))
    if divides and PROPENSITY not in reader.wanted:
        free = sorted(kind.__name__ for kind in Policy.registry.values() if _needs_none(kind))
        raise InvalidArgumentError(
            "log",
            log,
            f"a table with the column {PROPENSITY}, by which {policy!r} weighs what it learns",
            got=f"one with {', '.join(map(str, reader.source.names))}",
            fix=f"these policies can do without: {', '.join(free)}",
        )
    numbers = np.array([bandit._arms.index(arm) for arm in bandit.arms])
    places = np.arange(len(bandit._arms))
    if bandit._shares is not None:
        places = np.array([bandit._shares.places.get(i, -1) for i in range(len(bandit._arms))])
    state, random = clone_state(bandit._state), from_dict(to_dict(bandit._random.generator))
    seen, sums, rows = np.array(bandit._seen), np.array(bandit._sums), 0
    for batch in reader:
        there = np.flatnonzero(~np.isnan(batch.rewards))
        if batch.counts.size:
            there = np.repeat(there, batch.counts[there])
        arms, losses = numbers[batch.actions[there]], 1.0 - batch.rewards[there]
        np.add.at(seen, arms, 1)
        np.add.at(sums, arms, losses)
        rows += len(arms)
        learned = np.flatnonzero(places[arms] >= 0)  # the policy knows nothing of arms with fixed shares
        weights = batch.propensities[there[learned]] if divides else np.ones(len(learned))
        uniforms = random.random((len(learned), policy.draws))
        done = learn_rows(bandit._params, state, uniforms, places[arms[learned]], losses[learned], weights)
        if done < len(learned):
            raise SolverError(f"{policy!r} found no solution in row {done + 1} of {counted(rows, 'row')}")
    bandit._state = state
    bandit._set_stream(random)
    bandit._seen, bandit._sums = seen.tolist(), sums.tolist()
    bandit._bind()
    return rows


def _needs_none(kind: type[Policy]) -> bool:
    try:
        return not weighs(kind().resolve(2, 2)) and not kind.decoupled and not kind.in_python
    except (TypeError, ValueError):  # it has settings without a default, or refuses these numbers
        return False
