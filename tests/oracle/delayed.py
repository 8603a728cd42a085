"""Late feedback and switching costs: published pseudocode, transcribed literally, in 60-digit arithmetic."""

from __future__ import annotations

import math

import mpmath as mp

from oracle import draws, step


def counted_delays(delays, n_arms):
    """The sums D̃_t, and how many pulls are skipped, with a flag for every pull and no short cut."""
    counts, total, totals = [True] * len(delays), 0, []
    for t in range(1, len(delays) + 1):
        total += sum(counts[s - 1] and s + delays[s - 1] >= t for s in range(1, t))
        totals.append(total)
        for s in range(1, t):
            if min(delays[s - 1], t - s) > math.sqrt(total / math.log(n_arms)):
                counts[s - 1] = False
    return totals, counts.count(False)


def zimmert_seldin(uniforms, losses, delays, weight, skipping):
    """AISTATS 2020, Algorithm 1 with η_t^{-1} times ``weight``: p and arm of every round."""
    rounds, k = losses.shape
    out, arms, estimates, total = [], [], [], 0
    counts = [True] * rounds
    with mp.workdps(step.DIGITS):
        for t in range(1, rounds + 1):
            seen = [mp.mpf(0)] * k
            for s in range(1, t):
                if s + delays[s - 1] < t:
                    seen[arms[s - 1]] += estimates[s - 1]
                elif counts[s - 1]:
                    total += 1
            threshold = mp.sqrt(mp.mpf(total) / mp.log(k))
            inverse = weight * (threshold if skipping else mp.sqrt(2) * threshold)
            parts = [(1, "tsallis", mp.mpf(1) / 2)]
            if inverse > 0:
                parts.append((inverse / mp.sqrt(t), "shannon", None))
            p, _ = step.solve(seen, [mp.sqrt(t)] * k, parts)
            arm = draws.quantile(p, uniforms[t - 1])
            out.append(p)
            arms.append(arm)
            estimates.append(mp.mpf(losses[t - 1, arm]) / p[arm])
            for s in range(1, t):
                if skipping and min(delays[s - 1], t - s) > threshold:
                    counts[s - 1] = False
    return out, arms


def tsallis_switch(uniforms, losses, delays, cost):
    """ICML 2021: in every round the law of its block and the arm; a block takes its first uniform."""
    rounds, k = losses.shape
    out, arms, sent = [], [], []
    n = 0
    with mp.workdps(step.DIGITS):
        while len(arms) < rounds:
            n += 1
            a = mp.mpf(3) / 2 * mp.mpf(cost) * mp.sqrt(mp.mpf(n) / k)
            t = len(arms)
            seen = [mp.mpf(0)] * k
            for s, (arm, estimate) in enumerate(sent):
                if s + delays[s] < t:
                    seen[arm] += estimate
            eta = 2 / (a + 1) * mp.sqrt(mp.mpf(2) / n)  # of the potential −(4/η)·Σ√p
            p, _ = step.solve(seen, [2 / eta] * k, [(1, "tsallis", mp.mpf(1) / 2)])
            arm = draws.quantile(p, uniforms[t])
            for _ in range(min(max(int(mp.ceil(a)), 1), rounds - t)):
                sent.append((arm, mp.mpf(losses[len(arms), arm]) / p[arm]))
                out.append(p)
                arms.append(arm)
    return out, arms
