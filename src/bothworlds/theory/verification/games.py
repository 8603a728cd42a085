"""Games from benign to hostile, on which the lemmas are checked."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, IntArray
from bothworlds.policies import Policy
from bothworlds.theory.accounting.accounts import Account, account_game
from bothworlds.theory.accounting.ledger import DRAWN, LIKELIEST, RAREST


class Game(NamedTuple):
    """What is played: choices for arms, a table of losses, the arms called optimal, and the gaps."""

    name: str
    choices: IntArray
    table: FloatArray
    uniforms: FloatArray
    optimal: tuple[int, ...]
    gaps: tuple[float, ...]


def games(rounds: int = 1000, seed: int = 0) -> list[Game]:
    """Games from benign to hostile, with 2 to 8 arms and 1 to 3 of them optimal."""
    random = np.random.default_rng(seed)

    def game(
        name: str, choice: Any, table: FloatArray, optimal: tuple[int, ...], gaps: tuple[float, ...]
    ) -> Game:
        choices = np.broadcast_to(np.asarray(choice, dtype=np.int64), rounds).copy()
        return Game(name, choices, table, random.random((rounds, 2)), optimal, gaps)

    def coins(means: Any) -> FloatArray:
        shape = (rounds, np.shape(means)[-1])
        return np.array(random.random(shape) < means, dtype=np.float64)

    gaps = (0.0, 0.1, 0.0, 0.2, 0.4)
    switch = np.where(np.arange(rounds)[:, None] < rounds // 2, [0.2, 0.8, 0.5], [0.8, 0.2, 0.5])
    phase = np.log1p(np.arange(rounds)) // math.log(1.6) % 2
    shifted = np.where(phase[:, None] > 0, 0.8, 0.0) + np.array([0.0, 0.0, 0.2, 0.2, 0.1, 0.2])
    return [
        game("independent coins", DRAWN, coins(0.3 + np.array(gaps)), (0, 2), gaps),
        game("shifting levels", DRAWN, coins(shifted), (0, 1), (0.0, 0.0, 0.2, 0.2, 0.1, 0.2)),
        game("a switch at half-time", DRAWN, coins(switch), (0,), (0.0, 0.6, 0.3)),
        game("no losses at all", DRAWN, np.zeros((rounds, 2)), (1,), (0.5, 0.0)),
        game(
            "the likeliest arm loses",
            LIKELIEST,
            np.ones((rounds, 8)),
            (1, 4, 6),
            (0.1, 0, 0.3, 0.2, 0, 0.1, 0, 1),
        ),
        game("the rarest arm loses", RAREST, np.ones((rounds, 4)), (3,), (0.5, 0.1, 0.2, 0.0)),
        game(
            "erratic",
            random.choice([DRAWN, LIKELIEST, RAREST], rounds),
            random.choice([0.0, 1e-9, 0.5, 1.0], (rounds, 6)),
            (0, 5),
            (0.0, 0.1, 0.1, 0.3, 0.3, 0.0),
        ),
    ]


def play(policy: Policy, game: Game) -> Account:
    """The account of a policy in a game."""
    return account_game(
        policy, choices=game.choices, table=game.table, uniforms=game.uniforms, optimal=game.optimal
    )
