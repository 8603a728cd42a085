"""Bandits of other packages: gymnasium environments, and logs in the format of the Open Bandit Dataset."""

from __future__ import annotations

import csv
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.environments import PythonEnvironment
from bothworlds.environments.base import (
    Environment,
    add_to_totals,
    benchmark,
    cost_of,
    loss_of,
    open_world,
    prepare,
    reads_p,
)
from bothworlds.environments.delay import AT_ONCE
from bothworlds.errors import InvalidArgumentError
from bothworlds.simulation.trace import Trace

if TYPE_CHECKING:
    import gymnasium

OPEN_BANDIT = ("timestamp", "item_id", "position", "click", "propensity_score")


def to_gymnasium(environment: Environment, *, horizon: int) -> gymnasium.Env[Any, Any]:
    """A world as an environment of gymnasium: one state, an action per arm, episodes of ``horizon`` rounds.

    The reward is 1 − loss; ``info`` holds ``regret``, the regret of the episode so far, as
    ``environment.regret_kind`` says. The seed of ``reset`` decides everything random.

    Parameters
    ----------
    environment:
        Any world but those that read the policy's distribution, which gymnasium does not know, and those
        whose feedback comes late.
    horizon:
        The length of an episode; then it is truncated.

    Examples
    --------
    >>> import bothworlds as bw
    >>> from bothworlds.adapters import to_gymnasium
    >>> world = to_gymnasium(bw.environments.Bernoulli(means=[0.0, 1.0]), horizon=3)
    >>> observation, info = world.reset(seed=1)
    >>> [world.step(arm)[1:4] for arm in (0, 1, 1)]
    [(1.0, False, False), (0.0, False, False), (0.0, False, True)]
    """
    import gymnasium  # noqa: PLC0415 - an optional extra

    horizon = _check.integer("horizon", horizon, at_least=1)
    Environment.require(environment, name="environment")
    if reads_p(environment.parameters(horizon)):
        allowed = "a world that does not read the policy's distribution: gymnasium knows actions alone"
        raise InvalidArgumentError("environment", environment, allowed)
    if environment.delay(horizon) is not AT_ONCE:
        raise InvalidArgumentError("environment", environment, "a world whose feedback comes at once")

    unwatched = np.full(environment.n_arms, np.nan)

    class BanditEnv(gymnasium.Env[Any, Any]):  # type: ignore[misc] # its types are not read
        """One state; see :func:`to_gymnasium`."""

        def __init__(self) -> None:
            self.action_space = gymnasium.spaces.Discrete(environment.n_arms)
            self.observation_space = gymnasium.spaces.Discrete(1)

        def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
            """Begin an episode."""
            super().reset(seed=seed)
            self._params = environment.parameters(horizon)
            self._world = open_world(self._params)
            self._round, self._cost = 0, 0.0
            return 0, {"regret": 0.0}

        def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
            """Play an arm."""
            arm = int(action)
            self._round += 1
            if environment.made_in_blocks:
                self._params = environment.block(self.np_random, self._round - 1, self._round)
            uniforms = self.np_random.random(max(1, environment.draws))
            prepare(self._params, self._world, self._round, unwatched, uniforms)
            add_to_totals(self._params, self._world)
            loss = float(loss_of(self._params, self._world, self._round, arm, uniforms))
            ended = bool(np.isnan(loss))  # a log has no more rows
            if not ended:
                self._cost += cost_of(self._params, self._world, self._round, arm, uniforms)[0]
            regret = self._cost - benchmark(self._params, self._world, self._round)[0]
            reward = 0.0 if ended else 1.0 - loss
            return 0, reward, ended, self._round >= horizon, {"regret": float(regret)}

    return BanditEnv()


def from_gymnasium(
    make: Callable[[], gymnasium.Env[Any, Any]], *, low: float = 0.0, high: float = 1.0
) -> PythonEnvironment:
    """A one-state environment of gymnasium with discrete actions as a world.

    Regret needs the rewards of arms that were not played, so there is a copy of it for every arm, all with
    the same seed, and each plays its arm alone. That is the same world if it does not react to what is
    played. An episode that ends is begun again, and so is every block of rounds.

    Parameters
    ----------
    make:
        Makes the environment: ``lambda: gymnasium.make("MyBandit-v0")``.
    low, high:
        The range of its rewards; the loss is (high − reward)/(high − low).

    Examples
    --------
    >>> import bothworlds as bw
    >>> from bothworlds.adapters import from_gymnasium, to_gymnasium
    >>> coins = bw.environments.Bernoulli(means=[0.2, 0.8])
    >>> world = from_gymnasium(lambda: to_gymnasium(coins, horizon=1000))
    >>> run = bw.simulate(bw.UCB1(), world, horizon=200, replications=2, seed=1)
    >>> bool(run.regret[0, :, -1].max() < 100)
    True
    """
    made = make()
    wrapped = str(made)
    arms = int(getattr(made.action_space, "n", 0))
    if arms < 1:
        raise InvalidArgumentError("make", make, "one that makes an environment with discrete actions")
    low, high = _check.number("low", low), _check.number("high", high, above=low)

    class GymnasiumWorld(PythonEnvironment):
        """Copies of an environment, an arm each; see :func:`from_gymnasium`."""

        n_arms = arms

        def losses(self, random: np.random.Generator, start: int, stop: int) -> FloatArray:
            """Those of a block, from a fresh seed."""
            seed = int(random.integers(2**31))
            columns = [_rewards(make(), arm, stop - start, seed) for arm in range(arms)]
            return (high - np.column_stack(columns)) / (high - low)

        def __repr__(self) -> str:
            return f"GymnasiumWorld({wrapped}, n_arms={arms}, low={low:g}, high={high:g})"

    return GymnasiumWorld()


def _rewards(environment: gymnasium.Env[Any, Any], arm: int, rounds: int, seed: int) -> list[float]:
    """What one arm earns, round after round."""
    environment.reset(seed=seed)
    rewards = []
    for _ in range(rounds):
        _, reward, terminated, truncated, _ = environment.step(arm)
        rewards.append(float(reward))
        if terminated or truncated:
            environment.reset()
    return rewards


def write_open_bandit(trace: Trace, path: str | PathLike[str]) -> Path:
    """Write a run as a CSV file in the format of the Open Bandit Dataset, for evaluation elsewhere.

    A row per round: ``timestamp`` (the number of the round), ``item_id`` (the arm), ``position`` (1),
    ``click`` (1 for a loss of 0) and ``propensity_score``, the probability with which the arm was drawn.

    Parameters
    ----------
    trace:
        Of ``simulate(…, trace=True)``: ``run.traces[policy][replication]``. Its losses are 0 or 1.
    path:
        Where to write.

    Examples
    --------
    >>> import bothworlds as bw
    >>> from bothworlds.adapters import write_open_bandit
    >>> world = bw.environments.Bernoulli(n_arms=2, gap=0.2)
    >>> run = bw.simulate(bw.TsallisINF(), world, horizon=3, seed=1, trace=True)
    >>> print(write_open_bandit(run.traces[0][0], "log.csv").read_text().splitlines()[0])
    timestamp,item_id,position,click,propensity_score

    References
    ----------
    Y. Saito, S. Aihara, M. Matsutani, Y. Narita: Open Bandit Dataset and Pipeline: Towards Realistic and
    Reproducible Off-policy Evaluation. NeurIPS Datasets and Benchmarks 2021.
    """
    if not isinstance(trace, Trace):
        raise InvalidArgumentError(
            "trace", trace, "a Trace", fix="run.traces[0][0], of simulate(…, trace=True)"
        )
    if trace.policy.in_python or (trace.played is not None and (trace.played != trace.arms).any()):
        allowed = "of a policy that tells its probabilities and observes the arm it plays"
        raise InvalidArgumentError("trace", trace, allowed)
    binary = np.isin(trace.losses, (0.0, 1.0))
    if not binary.all():
        got = f"a loss of {trace.losses[~binary][0]:g}"
        raise InvalidArgumentError("trace", trace, "of losses 0 and 1: a click is there or not", got=got)
    file = Path(path)
    drawn = trace.p[np.arange(len(trace)), trace.arms]
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(OPEN_BANDIT)
        for t, (arm, loss, p) in enumerate(zip(trace.arms, trace.losses, drawn, strict=True), start=1):
            writer.writerow((t, int(arm), 1, int(loss == 0.0), repr(float(p))))
    return file
