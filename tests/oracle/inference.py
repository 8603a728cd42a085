"""Statistics on bandit data, from their definitions, in 40 digits; imports nothing of the package."""

from __future__ import annotations

from mpmath import mp, mpf

mp.dps = 40

BETS = [mpf(2) ** j for j in range(-20, 12)]
_RAW = [mpf(1 + max(0, -8 - j, j - 3)) ** mpf("-1.5") for j in range(-20, 12)]
WEIGHTS = [raw / sum(_RAW) for raw in _RAW]


def sums(values):
    """A_j = Σ log(1 + λ_j x)."""
    return [mp.fsum(mp.log(1 + bet * mpf(x)) for x in values) for bet in BETS]


def sums_of_counts(ones):
    return [ones * mp.log(1 + bet) for bet in BETS]


def e_value(logs, n, mean):
    return mp.fsum(
        w * mp.exp(a - n * mp.log(1 + bet * mpf(mean))) for w, a, bet in zip(WEIGHTS, logs, BETS, strict=True)
    )


def log_e(logs, n, mean):
    return mp.log(e_value(logs, n, mean))


def bisect(f, low, high, steps=130):
    """Where a decreasing function crosses 0."""
    low, high = mpf(low), mpf(high)
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return low


def lower(logs, n, level, top=1):
    """The smallest m ≥ 0 with E(m) < 1/level."""
    target = -mp.log(mpf(level))
    if n == 0 or log_e(logs, n, 0) <= target:
        return mpf(0)
    if log_e(logs, n, top) >= target:
        return mpf(top)
    return bisect(lambda m: log_e(logs, n, m) - target, 0, top)


def smallest(f, low=0, high=1, steps=75):
    """The minimum of a convex function, by golden section."""
    golden = (mp.sqrt(5) - 1) / 2
    low, high = mpf(low), mpf(high)
    a, b = high - golden * (high - low), low + golden * (high - low)
    fa, fb, ends = f(a), f(b), min(f(low), f(high))
    for _ in range(steps):
        if fa < fb:
            high, b, fb = b, a, fa
            a = high - golden * (high - low)
            fa = f(a)
        else:
            low, a, fa = a, b, fb
            b = low + golden * (high - low)
            fb = f(b)
    return min(fa, fb, ends)


def not_best(gains, losses, n, arm):
    """O_a in a stationary world."""
    others = [b for b in range(len(n)) if b != arm]

    def evidence(m):
        rivals = mp.fsum(e_value(gains[b], n[b], m) for b in others) / len(others)
        return log_e(losses[arm], n[arm], 1 - m) + mp.log(rivals)

    return smallest(evidence)


def difference_evidence(gain, n_gain, loss, n_loss, delta):
    """The log of the evidence against μ_a − μ_b ≤ δ."""
    low, high = max(mpf(0), -delta), min(mpf(1), 1 - delta)
    return smallest(lambda m: log_e(gain, n_gain, m + delta) + log_e(loss, n_loss, 1 - m), low, high)


def drift(rewards):
    """log e of the drift test for the rewards of one arm, in order."""
    memories = [mpf(1)] + [1 - mpf(1) / 4**k for k in range(2, 8)]
    first = sorted(rewards[:20])
    cutoff = mpf("0.5") if all(r in (0, 1) for r in first) else (mpf(first[9]) + mpf(first[10])) / 2
    ones, zeros = [mpf(0)] * 7, [mpf(0)] * 7
    trust = [mpf(1) / 7] * 7
    numerator, n, k = mpf(0), 0, 0
    for r in rewards[20:]:
        x = 1 if r > cutoff else 0
        q = [(s + mpf("0.5")) / (s + z + 1) for s, z in zip(ones, zeros, strict=True)]
        likely = [p if x else 1 - p for p in q]
        z = mp.fsum(v * p for v, p in zip(trust, likely, strict=True))
        numerator += mp.log(z)
        ones = [g * s + x for g, s in zip(memories, ones, strict=True)]
        zeros = [g * s + 1 - x for g, s in zip(memories, zeros, strict=True)]
        n, k = n + 1, k + x
        share = 1 / mpf(2 * (n + 9))
        trust = [(1 - share) * v * p / z + share / 7 for v, p in zip(trust, likely, strict=True)]
    if n == 0:
        return mpf(0)
    still = mp.fsum(c * mp.log(mpf(c) / n) for c in (k, n - k) if c)
    return numerator - still


def audit(actions, distributions):
    """log e against "actions were drawn from these distributions"."""
    n_arms = len(distributions[0])
    drawn, expected = [0] * n_arms, [mpf(0)] * n_arms
    total = mpf(0)
    for action, given in zip(actions, distributions, strict=True):
        theta = [(c + 10) / (e + 10) for c, e in zip(drawn, expected, strict=True)]
        p = [mpf(value) for value in given]
        mean = mp.fsum(a * b for a, b in zip(p, theta, strict=True)) / sum(p)
        total += mp.log(theta[action]) - mp.log(mean)
        drawn[action] += 1
        expected = [e + value for e, value in zip(expected, p, strict=True)]
    return total
