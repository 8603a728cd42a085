"""Which of several Beta variates, with parameters of at least 1, are the smallest."""

from __future__ import annotations

import math

import numpy as np

from bothworlds._jit import FloatArray, kernel
from bothworlds.policies.shared.kl import kl_lower

N_NODES = 16


def _legendre(x: FloatArray, degree: int) -> FloatArray:
    """P_0 … P_degree at x, in columns."""
    values = [np.ones_like(x), x]
    for n in range(1, degree):
        values.append(((2 * n + 1) * x * values[n] - n * values[n - 1]) / (n + 1))
    return np.column_stack(values)


def _gauss() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Gauss–Legendre nodes and weights on [0, 1], and the integrals from 0 to each node.

    Row k of the matrix integrates from 0 to node k the polynomial through the values at the nodes: with
    Legendre polynomials P_n on [−1, 1] its coefficients are (2n+1)/2·Σ_m w_m P_n(x_m) f_m, and
    ∫_{−1}^x P_n = (P_{n+1}(x) − P_{n−1}(x))/(2n+1).

    (Not by ``numpy.polynomial``, which takes as long to import as half of this package.)
    """
    n = N_NODES
    x = -np.cos(np.pi * (np.arange(n) + 0.75) / (n + 0.5))
    for _ in range(6):  # Newton's method from Tricomi's guess
        values = _legendre(x, n)
        slope = n * (values[:, n - 1] - x * values[:, n]) / (1.0 - x**2)
        x = x - values[:, n] / slope
    w = 2.0 / ((1.0 - x**2) * slope**2)
    values = _legendre(x, n)
    orders = np.arange(1, N_NODES)
    integrals = np.empty((N_NODES, N_NODES))
    integrals[:, 0] = x + 1.0
    integrals[:, 1:] = (values[:, 2:] - values[:, :-2]) / (2 * orders + 1)
    coefficients = (values[:, :-1] * w[:, None] * (2 * np.arange(N_NODES) + 1) / 2).T
    return (x + 1.0) / 2.0, w / 2.0, np.ascontiguousarray(integrals @ coefficients / 2.0)


NODES, WEIGHTS, INTEGRALS = _gauss()
PANEL = 3.0  # width of a panel in standard deviations of the narrowest distribution that lives there
TAIL = 25.0  # what lies beyond the ends of a distribution has probability below e^-25 = 1.4e-11
UNREACHED = 1e-12  # no arm is impossible: the least that is reported
SMOOTH = 6.0  # from here on x^{a−1} is smooth enough at 0 for 16 nodes, whether a is whole or not
GRADE = 4.0  # where it is not, a panel ends at most so many times as far from 0 as it begins


HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)


@kernel
def log_gamma(x: float) -> float:
    """log Γ(x) for x ≥ 1: Stirling's series from 10 on, where seven terms are exact; Γ(x+1) = x·Γ(x) below.

    (Not ``math.lgamma``: numba's differs from Python's in the last digits.)
    """
    product = 1.0
    while x < 10.0:
        product *= x
        x += 1.0
    z = 1.0 / (x * x)
    rest = 1.0 / 1260.0 - z * (1.0 / 1680.0 - z * (1.0 / 1188.0 - z * (691.0 / 360360.0 - z / 156.0)))
    series = (1.0 / 12.0 - z * (1.0 / 360.0 - z * rest)) / x
    return (x - 0.5) * math.log(x) - x + HALF_LOG_2_PI + series - math.log(product)


@kernel
def cross(
    a: float,
    b: float,
    log_norm: float,
    left: float,
    step: float,
    survival: float,
    density: FloatArray,
    beyond: FloatArray,
) -> float:
    """One distribution on one panel: fill f and S at the nodes. S is given left, and returned right."""
    for k in range(N_NODES):
        x = left + step * NODES[k]
        density[k] = math.exp(log_norm + (a - 1.0) * math.log(x) + (b - 1.0) * math.log1p(-x))
    mass = 0.0
    for k in range(N_NODES):
        lost = 0.0
        for m in range(N_NODES):
            lost += INTEGRALS[k, m] * density[m]
        beyond[k] = max(0.0, survival - step * lost)
        mass += WEIGHTS[k] * density[k]
    return max(0.0, survival - step * mass)


@kernel
def select(values: FloatArray, count: int) -> float:
    """The number ``count`` of them in increasing order, from 1 on; those before it are put aside."""
    for c in range(count):
        smallest = c
        for i in range(c + 1, values.size):
            if values[i] < values[smallest]:
                smallest = i
        values[c], values[smallest] = values[smallest], values[c]
    return float(values[count - 1])


@kernel(inline=True)
def add_smallest(
    weight: float, k: int, density: FloatArray, beyond: FloatArray, before: FloatArray, out: FloatArray
) -> None:
    """The part of node k in the probability of being the smallest: f_i·Π_{j≠i} S_j."""
    n = out.size
    product = 1.0
    for i in range(n):
        before[i] = product
        product *= beyond[i, k]
    product = weight
    for i in range(n - 1, -1, -1):
        out[i] += density[i, k] * before[i] * product
        product *= beyond[i, k]


@kernel
def add_among_smallest(
    weight: float, k: int, density: FloatArray, beyond: FloatArray, counts: FloatArray, out: FloatArray
) -> None:
    """The part of node k in the probability of being among the smallest: f_i·P(fewer than m others below).

    How many of the arms before i are below x, none to m − 1, is added up arm by arm: row i of ``counts``.
    Those after i are added up the same way on the way back, in the last row.
    """
    n, m = out.size, counts.shape[1]
    for c in range(m):
        counts[0, c] = 1.0 if c == 0 else 0.0
        counts[n, c] = counts[0, c]
    for i in range(n - 1):
        above = beyond[i, k]
        for c in range(m):
            fewer = counts[i, c - 1] if c > 0 else 0.0
            counts[i + 1, c] = above * counts[i, c] + (1.0 - above) * fewer
    for i in range(n - 1, -1, -1):
        total = 0.0
        reached = 0.0  # P(at most c of the arms after i are below x)
        for c in range(m):
            reached += counts[n, c]
            total += counts[i, m - 1 - c] * reached
        out[i] += weight * density[i, k] * total
        above = beyond[i, k]
        for c in range(m - 1, -1, -1):
            fewer = counts[n, c - 1] if c > 0 else 0.0
            counts[n, c] = above * counts[n, c] + (1.0 - above) * fewer


@kernel(allocates=True)
def probability_of_smallest(a: FloatArray, b: FloatArray, choose: int, out: FloatArray) -> None:
    """The probability of being among the smallest, as many as are chosen: that of every best set."""
    probability_of_best(a, b, choose, choose, 1.0, out)


@kernel
def panel_end(
    x: float, end: float, begin: FloatArray, width: FloatArray, rough_at_0: bool, rough_at_1: bool
) -> float:
    """Where the panel that begins at x ends."""
    for i in range(begin.size):
        end = min(end, max(begin[i], x + width[i]))
    if rough_at_0:
        end = min(end, GRADE * x)
    if rough_at_1:
        end = min(end, 1.0 - (1.0 - x) / GRADE)
    return end


@kernel
def add_node(
    weight: float,
    k: int,
    density: FloatArray,
    beyond: FloatArray,
    room: FloatArray,
    counts: FloatArray,
    out: FloatArray,
) -> None:
    """The part of node k in the probability of being among as many as ``counts`` has columns."""
    if counts.shape[1] == 1:
        add_smallest(weight, k, density, beyond, room, out)
    else:
        add_among_smallest(weight, k, density, beyond, counts, out)


@kernel(allocates=True)
def probability_of_best(
    a: FloatArray, b: FloatArray, fewest: int, most: int, outside: float, out: FloatArray
) -> None:
    """For independent X_i ~ Beta(a_i, b_i), a_i, b_i ≥ 1: the probability that X_i is the smallest,

        P_i = ∫ f_i(x) Π_{j≠i} S_j(x) dx,   S_j(x) = P(X_j > x).

    With ``fewest`` = ``most`` = m, that it is among the m smallest: the product is then P(fewer than m of the
    others are below x), and nothing happens above the m-th smallest upper end. With different ones, that it
    is among the fewest smallest, or below ``outside`` and among the most smallest: m is the most there, and
    the fewest above.

    *Ends.* X = G/(G + H) with independent Gamma variates of shapes a and b, so that by Markov's inequality
    P(X ≤ x) = P(x·H − (1−x)·G ≥ 0) ≤ (1 − λx)^−b·(1 + λ(1−x))^−a. With n = a + b, m = a/n, x ≤ m and the
    best λ = (m − x)/(x(1−x)) this is e^{−n·kl(m, x)}, and likewise at the upper end. So all but 2·e^−25 of X
    lies between two KL confidence bounds, and nothing happens above the smallest upper end.

    *Panels.* From the smallest lower end on, a panel is no wider than three standard deviations of any
    distribution that has begun by its right end. On each f_i is a polynomial through 16 Gauss nodes; its
    integral gives S_i at the nodes. A Gaussian bump has an interpolation error of 3e-9 of its height there.
    Where x^{a−1} is not smooth at 0, because a is small and not whole, panels grow by a factor of 4 from the
    lower end on (error 3^−16 = 2e-8 of the height there); likewise towards 1.

    Accurate to 1e-8 while a + b < 10^6; beyond, log Gamma loses digits in proportion to a + b. Allocates.
    Where that is known, normalized to sum to m.
    """
    n = a.size
    begin = np.empty(n)
    width = np.empty(n)
    log_norm = np.empty(n)
    survival = np.ones(n)  # S_i at the left end of the panel
    density = np.zeros((n, N_NODES))
    beyond = np.ones((n, N_NODES))  # S_i at the nodes
    before = np.empty(n)
    out[:] = 0.0
    x = 1.0
    ends = np.empty(n)
    rough_at_0 = False
    rough_at_1 = False
    for i in range(n):
        total = a[i] + b[i]
        begin[i] = kl_lower(a[i] / total, TAIL / total)
        ends[i] = 1.0 - kl_lower(b[i] / total, TAIL / total)
        rough_at_0 = rough_at_0 or (a[i] < SMOOTH and a[i] != math.floor(a[i]))
        rough_at_1 = rough_at_1 or (b[i] < SMOOTH and b[i] != math.floor(b[i]))
        x = min(x, begin[i])
        width[i] = PANEL * math.sqrt(a[i] * b[i] / (total + 1.0)) / total
        log_norm[i] = log_gamma(total) - log_gamma(a[i]) - log_gamma(b[i])
    for above in range(2 if 0 < fewest < most else 1):  # first below ``outside``
        choose = fewest if above == 1 else most
        counts = np.empty((n + 1 if choose > 1 else 0, choose))
        end = select(ends, choose)
        if above == 0 and fewest < most:
            end = min(end, outside)
        while x < end:
            right = panel_end(x, end, begin, width, rough_at_0, rough_at_1)
            step = right - x
            for i in range(n):
                if begin[i] < right:
                    survival[i] = cross(a[i], b[i], log_norm[i], x, step, survival[i], density[i], beyond[i])
            for k in range(N_NODES):
                add_node(step * WEIGHTS[k], k, density, beyond, before, counts, out)
            x = right
    total = 0.0
    for i in range(n):
        out[i] = max(out[i], UNREACHED)
        total += out[i]
    if fewest < most:
        total = float(most)
    for i in range(n):
        out[i] = min(1.0, most * (out[i] / total))
