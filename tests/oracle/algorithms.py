"""Published pseudocode, transcribed line by line in 60-digit arithmetic, on forced histories."""

from __future__ import annotations

import mpmath as mp

from oracle import step


def algorithm1(parts, n_arms, horizon, barrier, theta, alpha, arms, losses):
    """Algorithm 1 of the paper: lists of p, γ and Σℓ̂ before every round."""
    with mp.workdps(step.DIGITS):
        cumulative = [mp.mpf(0)] * n_arms
        sums = [mp.mpf(0)] * n_arms
        theta, clip, power = mp.mpf(theta), mp.mpf(1) / horizon, 1 - 2 * mp.mpf(alpha)
        out_p, out_rates, out_estimates = [], [], []
        for t in range(len(arms) + 1):
            rates = [theta * mp.sqrt(1 + s) for s in sums]
            p, _ = step.solve(cumulative, rates, parts, barrier)
            out_p.append(p)
            out_rates.append(rates)
            out_estimates.append(list(cumulative))
            if t == len(arms):
                return out_p, out_rates, out_estimates
            cumulative[arms[t]] += mp.mpf(losses[t]) / p[arms[t]]
            sums = [s + max(value, clip) ** power for s, value in zip(sums, p, strict=True)]


def tsallis_inf_rv(n_arms, arms, losses):
    """JMLR 2021: potential −(4/η)Σ(√w − w/2), η_t = 4/√t, B_i = ½·1[w_i ≥ η_t²]."""
    with mp.workdps(step.DIGITS):
        cumulative = [mp.mpf(0)] * n_arms
        out = []
        for t in range(1, len(arms) + 2):
            eta = 4 / mp.sqrt(t)
            # w_i = 4 (η (L_i − x))^{-2}: Newton from x = min L − 2/η, where Σw ≥ 1
            x = min(cumulative) - 2 / eta
            for _ in range(500):
                w = [4 / (eta * (value - x)) ** 2 for value in cumulative]
                change = (mp.fsum(w) - 1) / (eta * mp.fsum(value ** mp.mpf("1.5") for value in w))
                x -= change
                if abs(change) < mp.mpf(10) ** -48 * (1 + abs(x)):
                    break
            w = [4 / (eta * (value - x)) ** 2 for value in cumulative]
            out.append(w)
            if t == len(arms) + 1:
                return out
            tolerance = 1 - mp.mpf(10) ** -40  # w = η² exactly counts as inside
            baseline = [mp.mpf(1) / 2 if value >= eta**2 * tolerance else mp.mpf(0) for value in w]
            a = arms[t - 1]
            for i in range(n_arms):
                cumulative[i] += baseline[i]
            cumulative[a] += (mp.mpf(losses[t - 1]) - baseline[a]) / w[a]


def light_barrier(n_arms, horizon, arms, losses):
    """The default policy as its docstring states it; no horizon: log(t+K) is log T, 1/t the clip."""
    with mp.workdps(step.DIGITS):
        barrier = mp.mpf(1) / 2
        cumulative = [mp.mpf(0)] * n_arms
        sums = [mp.mpf(0)] * n_arms
        seen_sum = mp.mpf(0)
        out_p, out_rates, out_estimates = [], [], []
        for t in range(1, len(arms) + 2):
            logarithm = mp.log(horizon) if horizon is not None else mp.log(t + n_arms)
            theta = mp.mpf("0.75") / mp.sqrt(max(mp.mpf(1), logarithm))
            rates = [theta * mp.sqrt(1 + s) for s in sums]
            p, _ = step.solve(cumulative, rates, [(1, "log", None)], barrier)
            out_p.append(p)
            out_rates.append(rates)
            out_estimates.append(list(cumulative))
            if t == len(arms) + 1:
                return out_p, out_rates, out_estimates
            a, loss = arms[t - 1], mp.mpf(losses[t - 1])
            mean = (mp.mpf(1) / 2 + seen_sum) / t
            baseline = [min(mean, (barrier + rate) / 2) for rate in rates]
            for i in range(n_arms):
                cumulative[i] += baseline[i]
            cumulative[a] += (loss - baseline[a]) / p[a]
            clip = mp.mpf(1) / (horizon if horizon is not None else t)
            weight = 4 * (loss - baseline[a]) ** 2
            sums = [s + weight * max(value, clip) for s, value in zip(sums, p, strict=True)]
            seen_sum += loss


def decoupled(n_arms, theta_scale, observed, losses):
    """⅔-Tsallis, γ_t = θ√t, estimates weighted by g ∝ p^{2/3}."""
    with mp.workdps(step.DIGITS):
        theta = mp.mpf(theta_scale) * mp.mpf(n_arms) ** (mp.mpf(1) / 6)
        beta = mp.mpf(2) / 3
        cumulative = [mp.mpf(0)] * n_arms
        out = []
        for t in range(1, len(observed) + 2):
            rates = [theta * mp.sqrt(t)] * n_arms
            p, _ = step.solve(cumulative, rates, [(1, "tsallis", beta)], 0)
            out.append(p)
            if t == len(observed) + 1:
                return out
            powers = [value ** (mp.mpf(2) / 3) for value in p]
            j = observed[t - 1]
            cumulative[j] += mp.mpf(losses[t - 1]) * mp.fsum(powers) / powers[j]
