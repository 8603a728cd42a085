"""The paper's regret decomposition in 60-digit arithmetic, every divergence by its textbook definition.

Written from Section 4 and the appendices (with the errata: φ_U for q, λ's sign, the decoupled p̄ and p̃). A
regularizer is a list of (weight, kind, beta) as in ``oracle.step``.
"""

from __future__ import annotations

import mpmath as mp

from oracle import step


def psi(parts, x):
    """ψ(x)."""
    total = mp.mpf(0)
    for weight, kind, beta in parts:
        if kind == "log":
            total += -weight * mp.log(x)
        elif kind == "tsallis":
            b = mp.mpf(beta)
            total += -weight * x**b / (1 - b)
        elif kind == "centered":
            b = mp.mpf(beta)
            total += -weight * (x**b - b * x) / (b * (1 - b))
        elif kind == "inverse":
            total += weight / x
        else:
            total += weight * (x * mp.log(x) - x if x > 0 else 0)
    return total


def psi_prime(parts, x):
    """ψ'(x) = −h(−log x), from the step's own slope."""
    return -step.slope(parts, mp.mpf(1), mp.mpf(0), -mp.log(x))[0]


def phi(parts, rates, barrier, x, arms):
    """φ restricted to some arms."""
    total = mp.mpf(0)
    for i in arms:
        total += rates[i] * psi(parts, x[i])
        if barrier:
            total -= barrier * mp.log(x[i])
    return total


def gradient(parts, rate, barrier, x):
    """One entry of ∇φ."""
    return rate * psi_prime(parts, x) - (barrier / x if barrier else 0)


def divergence(parts, barrier, early, late, x, y, arms):
    """D(x, y) = φ_early(x) − φ_late(y) − <∇φ_late(y), x − y> over some arms."""
    inner = mp.fsum(gradient(parts, late[i], barrier, y[i]) * (x[i] - y[i]) for i in arms)
    return phi(parts, early, barrier, x, arms) - phi(parts, late, barrier, y, arms) - inner


def minimizer(parts, barrier, losses, rates, arms, total, n_arms):
    """argmin of <x, L> + φ_arms(x) over x ≥ 0 with mass ``total`` on ``arms``; and the multiplier."""
    x, level = step.solve([losses[i] for i in arms], [rates[i] for i in arms], parts, barrier, total)
    full = [mp.mpf(0)] * n_arms
    for i, value in zip(arms, x, strict=True):
        full[i] = value
    return full, level


def account(
    parts,
    n_arms,
    horizon,
    barrier,
    theta,
    alpha,
    arms,
    losses,
    optimal,
    epsilon,
    *,
    explore=None,
    fixed=False,
):
    """A dictionary of lists, one entry per round. ``explore``: the power in g ∝ p^explore, if decoupled."""
    with mp.workdps(step.DIGITS):
        everything = range(n_arms)
        inside, outside = sorted(optimal), [i for i in everything if i not in optimal]
        barrier, theta = mp.mpf(barrier), mp.mpf(theta)
        clip, power = mp.mpf(1) / horizon, 1 - 2 * mp.mpf(alpha)
        names = "total benchmark suboptimal stability penalty optimal residual gap regret preprocessing"
        out = {name: [] for name in [*names.split(), "U", "V", "K", "p", "q", "p_bar", "p_tilde"]}

        def rates_after(sums):
            return [theta * mp.sqrt(1 + (0 if fixed else s)) for s in sums]

        level = [mp.mpf(0)] * n_arms
        sums = [mp.mpf(0)] * n_arms
        old = rates_after(sums)
        p, at_p = minimizer(parts, barrier, level, old, everything, 1, n_arms)
        q, _ = minimizer(parts, barrier, level, old, inside, 1, n_arms)
        for arm, loss in zip(arms, losses, strict=True):
            weights = p if explore is None else [x ** mp.mpf(explore) for x in p]
            estimate = [mp.mpf(0)] * n_arms
            estimate[arm] = mp.mpf(loss) * mp.fsum(weights) / weights[arm]
            after = [a + b for a, b in zip(level, estimate, strict=True)]
            sums = [s + max(x, clip) ** power for s, x in zip(sums, p, strict=True)]
            new = rates_after(sums)
            mixed = [old[i] if explore is not None and i in outside else new[i] for i in everything]
            p_new, at_new = minimizer(parts, barrier, after, new, everything, 1, n_arms)
            q_new, _ = minimizer(parts, barrier, after, new, inside, 1, n_arms)
            bar, multiplier = [mp.mpf(0)] * n_arms, {}
            for side, members in (("U", inside), ("V", outside)):
                mass = mp.fsum(p[i] for i in members)
                part, at = minimizer(parts, barrier, after, mixed, members, mass, n_arms)
                bar = [a + b for a, b in zip(bar, part, strict=True)]
                multiplier[side] = at - at_p

            def d(x, y, early, late, members):
                return divergence(parts, barrier, early, late, x, y, members)

            total, benchmark = d(p, p_new, old, new, everything), d(q, q_new, old, new, inside)
            inner = mp.fsum((p[i] - bar[i]) * estimate[i] for i in outside)
            at = bar if explore is None else p_new
            penalty = phi(parts, old, barrier, at, outside) - phi(parts, new, barrier, at, outside)
            if explore is None:
                end, at_end, gap = p_new, at_new, mp.mpf(0)
                suboptimal = d(p, bar, old, new, outside)
            else:
                end, at_end = minimizer(parts, barrier, after, mixed, everything, 1, n_arms)
                gap = d(p_new, end, mixed, mixed, everything)
                suboptimal = d(p, bar, old, old, outside) + penalty
                out["p_tilde"].append(end)
            q_tilde = [(1 - mp.mpf(epsilon)) * x for x in q]
            for i in outside:
                q_tilde[i] = mp.mpf(epsilon) / len(outside)
            regret = mp.fsum(estimate[i] * (p[i] - q_tilde[i]) for i in everything)
            values = {
                "total": total,
                "benchmark": benchmark,
                "suboptimal": suboptimal,
                "stability": inner - d(bar, p, old, old, outside),
                "penalty": penalty,
                "optimal": d(p, bar, old, new, inside) - benchmark,
                "residual": d(bar, end, mixed, mixed, everything),
                "gap": gap,
                "regret": regret,
                "preprocessing": regret - total + benchmark,
                **multiplier,
                "K": at_end - at_p,
                "p": p,
                "q": q,
                "p_bar": bar,
            }
            for name, value in values.items():
                out[name].append(value)
            p, at_p, q, level, old = p_new, at_new, q_new, after, new
        return out
