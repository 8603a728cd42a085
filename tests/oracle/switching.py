"""EXP3.P and SAO, transcribed in 40-digit arithmetic, in gains."""

from __future__ import annotations

import mpmath as mp

from oracle import draws

DIGITS = 40


def exp3p(uniforms, losses, horizon, delta):
    """Bubeck and Cesa-Bianchi 2012, Figure 3.1 and Theorem 3.2: p, arms, and cumulative estimated gains."""
    rounds, k = losses.shape
    with mp.workdps(DIGITS):
        eta = mp.mpf("0.95") * mp.sqrt(mp.log(k) / (horizon * k))
        gamma = min(mp.mpf(1), mp.mpf("1.05") * mp.sqrt(k * mp.log(k) / horizon))
        beta = mp.sqrt(mp.log(k / mp.mpf(delta)) / (horizon * k))
        gains = [mp.mpf(0)] * k
        out, arms, estimates = [], [], []
        for t in range(rounds):
            weights = [mp.exp(eta * g) for g in gains]
            p = [(1 - gamma) * w / mp.fsum(weights) + gamma / k for w in weights]
            arm = draws.quantile(p, uniforms[t])
            out.append(p)
            arms.append(arm)
            estimates.append(list(gains))
            for i in range(k):
                gain = 1 - mp.mpf(losses[t, i]) if i == arm else 0
                gains[i] += (gain + beta) / p[i]
    return out, arms, estimates


def sao(uniforms, losses, log_beta, horizon, delta):
    """Bubeck and Slivkins 2012, Algorithm 1: p, arms, {arm: round of deactivation}, and (round, why)."""
    n, k = losses.shape
    with mp.workdps(DIGITS):
        log_beta = mp.mpf(log_beta)
        active = set(range(k))
        tau, q, p = [n] * k, [None] * k, [mp.mpf(1) / k] * k
        weighted, plain, count = [mp.mpf(0)] * k, [mp.mpf(0)] * k, [0] * k
        out, arms, stopped = [], [], {}

        def radius(s):
            return mp.sqrt(4 * k * log_beta / s + 5 * (k * log_beta / s) ** 2) if s else mp.inf

        for t in range(1, n + 1):
            arm = draws.quantile(p, uniforms[t - 1])
            out.append(list(p))
            arms.append(arm)
            gain = 1 - mp.mpf(losses[t - 1, arm])
            weighted[arm] += gain / p[arm]
            plain[arm] += gain
            count[arm] += 1
            why = None
            for i in range(k):
                best = max(weighted[j] / t for j in active)
                estimate = weighted[i] / t
                if i in active and best - estimate > 6 * radius(t):
                    active.remove(i)
                    tau[i], q[i] = t, p[i]
                    stopped[i] = t
                star = min(tau[i], t)
                if count[i]:
                    late = (t - star) / (q[i] * tau[i] * t) if t > star else 0
                    bound = mp.sqrt(2 * log_beta / count[i]) + mp.sqrt(
                        4 * (mp.mpf(k) * star / t**2 + late) * log_beta + 5 * (k * log_beta / star) ** 2
                    )
                    if abs(estimate - plain[i] / count[i]) > bound:
                        why = "means differ"
                if i not in active and best - estimate > 10 * radius(tau[i] - 1):
                    why = "gap grew"
                if i not in active and best - estimate <= 2 * radius(tau[i]):
                    why = "gap shrank"
            if why:
                later, more, _ = exp3p(uniforms[t:], losses[t:], horizon, delta)
                return out + later, arms + more, stopped, (t, why)
            for i in range(k):
                if i not in active:
                    p[i] = q[i] * tau[i] / (t + 1)
            rest = 1 - mp.fsum(p[i] for i in range(k) if i not in active)
            for i in active:
                p[i] = rest / len(active)
    return out, arms, stopped, None
