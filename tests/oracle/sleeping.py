"""Arms that sleep, arrive and retire: Nguyen and Mehta's algorithms (AISTATS 2024), and others in their way.

All arms that will ever be have estimates from the beginning: one that has not arrived is asleep, and gets
what absent arms get. Where a new arm starts follows from that.
"""

from __future__ import annotations

import mpmath as mp

from oracle import step


class Learner:
    """What all have in common: ``arms`` have arrived and not retired, ``estimates`` are Σℓ̂ of every arm."""

    parts = ((1, "log", None),)
    barrier = 0

    def __init__(self, n_arms, n_ever):
        mp.mp.dps = 40
        self.t = 1
        self.seen = n_arms  # G: how many have arrived so far
        self.arms = list(range(n_arms))
        self.estimates = [mp.mpf(0)] * n_ever

    def arrive(self):
        self.arms.append(self.seen)
        self.seen += 1

    def retire(self, arm):
        self.arms.remove(arm)

    def leader(self):
        """q: the FTRL distribution over all arms that are there."""
        rates, losses = self.rates(), self.losses()
        p, _ = step.solve(
            [losses[i] for i in self.arms], [rates[i] for i in self.arms], self.parts, self.barrier
        )
        return dict(zip(self.arms, p, strict=True))

    def losses(self):
        return self.estimates

    def distribution(self, awake):
        """p: q restricted to those awake and renormalized."""
        q = self.leader()
        total = mp.fsum(q[i] for i in awake)
        return {i: q[i] / total for i in awake}

    def update(self, arm, loss, awake, p):
        """The estimates of all arms, those absent at the draw included; p is that of the draw."""
        loss = mp.mpf(loss)
        estimate = self.estimate(arm, loss, p)
        self.advance(arm, loss, awake)
        for i in range(len(self.estimates)):
            self.estimates[i] += estimate[i] if i in awake else loss
        self.t += 1

    def estimate(self, arm, loss, p):
        return [loss / p if i == arm else mp.mpf(0) for i in range(len(self.estimates))]

    def advance(self, arm, loss, awake):
        pass


class FTARL(Learner):
    """Algorithm 2, with ½-Tsallis entropy and the anytime rate of Tsallis-INF."""

    parts = ((1, "tsallis", mp.mpf(1) / 2),)

    def rates(self):
        return [mp.sqrt(self.t)] * len(self.estimates)


class SBEXP3(Learner):
    """Algorithm 1: p_i ∝ 1[i ∈ A_t]·exp(η·Σ_{s: i ∈ A_s} (ℓ_{A_s} − ℓ̂_{s,i})), with EXP3's rate."""

    def __init__(self, n_arms, n_ever):
        super().__init__(n_arms, n_ever)
        self.advantages = [mp.mpf(0)] * n_ever

    def distribution(self, awake):
        eta = mp.sqrt(mp.log(self.seen) / (self.t * self.seen))
        weights = {i: mp.exp(eta * self.advantages[i]) for i in awake}
        total = mp.fsum(weights.values())
        return {i: weight / total for i, weight in weights.items()}

    def update(self, arm, loss, awake, p):
        for i in awake:
            self.advantages[i] += mp.mpf(loss) - (mp.mpf(loss) / p if i == arm else 0)
        self.t += 1


class LightBarrier(Learner):
    """The default policy as its docstring states it, T unknown; γ of an absent arm gets no increment."""

    barrier = mp.mpf(1) / 2

    def __init__(self, n_arms, n_ever):
        super().__init__(n_arms, n_ever)
        self.sums = [mp.mpf(0)] * n_ever
        self.total = mp.mpf(0)

    def rates(self):
        theta = mp.mpf("0.75") / mp.sqrt(max(mp.mpf(1), mp.log(self.t + self.seen)))
        return [theta * mp.sqrt(1 + s) for s in self.sums]

    def baselines(self):
        mean = (mp.mpf(1) / 2 + self.total) / self.t
        return [min(mean, (self.barrier + rate) / 2) for rate in self.rates()]

    def estimate(self, arm, loss, p):
        baselines = self.baselines()
        return [b + ((loss - b) / p if i == arm else 0) for i, b in enumerate(baselines)]

    def advance(self, arm, loss, awake):
        weight = 4 * (loss - self.baselines()[arm]) ** 2
        q = self.leader()
        for i in awake:
            if i in q:
                self.sums[i] += weight * max(q[i], mp.mpf(1) / self.t)
        self.total += loss


class Ito21(Learner):
    """Ito (2021) for a known T: m and γ of absent arms stay."""

    def __init__(self, n_arms, n_ever, horizon, eta):
        super().__init__(n_arms, n_ever)
        self.log_horizon, self.eta = mp.log(horizon), mp.mpf(eta)
        self.predictions = [mp.mpf(1) / 2] * n_ever
        self.gammas = [mp.mpf(2)] * n_ever

    def rates(self):
        return self.gammas

    def losses(self):
        return [a + b for a, b in zip(self.estimates, self.predictions, strict=True)]

    def estimate(self, arm, loss, p):
        return [m + ((loss - m) / p if i == arm else 0) for i, m in enumerate(self.predictions)]

    def advance(self, arm, loss, awake):
        error = loss - self.predictions[arm]
        q = self.leader()
        for i in awake:
            if i in q:
                deviation = (1 if i == arm else 0) - q[i]
                self.gammas[i] += error**2 * deviation**2 / (2 * self.gammas[i] * self.log_horizon)
        self.predictions[arm] += self.eta * error
