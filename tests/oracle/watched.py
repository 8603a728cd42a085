"""The watch over a policy, rule by rule: lists and logarithms, everything computed anew in every round.

The policy inside is given: an object with ``p``, ``update(arm, loss, weight)`` and ``restart(total, count)``.
"""

from __future__ import annotations

import math


def kl(p, q):
    value = 0.0
    if p > 0:
        value += p * math.log(p / q)
    if p < 1:
        value += (1 - p) * math.log((1 - p) / (1 - q))
    return value


def glr(n1, s1, n2, s2):
    if n1 == 0 or n2 == 0:
        return 0.0
    m = (s1 + s2) / (n1 + n2)
    value = sum(n * kl(s / n, m) if 0 < m < 1 else 0.0 for n, s in ((n1, s1), (n2, s2)))
    return value if s1 / n1 < s2 / n2 else -value


def logit(x):
    return math.log(x / (1 - x))


def together(mean, to, origin):
    """The mean that has moved on the logit scale as far as from ``origin`` to ``to``."""
    return 1 / (1 + math.exp(-(logit(mean) + logit(to) - logit(origin))))


class Cusum:
    def __init__(self, side, c):
        self.side, self.c = side, c
        self.zero()

    def zero(self):
        self.S, self.count, self.residuals = 0.0, 0, 0.0

    def update(self, mu, n, loss):
        sigma = math.sqrt(max(mu * (1 - mu), 1 / n))
        if self.side == "worse":
            u = min(1, mu + 1.5 * sigma / math.sqrt(n))
            self.S += math.log(1 + min(self.c / sigma, 0.9 / u) * (loss - u))
        else:
            o = max(0, mu - 1.5 * sigma / math.sqrt(n))
            self.S += math.log(1 - min(self.c / sigma, 0.9 / (1 - o)) * (loss - o))
        self.count += 1
        self.residuals += loss - mu
        if self.S <= 0:
            self.zero()


class Watched:
    def __init__(self, base, n_arms, explore=0.4, budget=0.15, *, centered=True):
        self.base, self.K, self.explore, self.budget = base, n_arms, explore, budget
        self.centered = centered
        self.trials = 0.0
        self.level = [[0.0, 0.0] for _ in range(n_arms)]
        self.buffer = [[0.0, 0.0, 0] for _ in range(n_arms)]
        self.cusums = [Cusum(side, c) for side in ("worse", "better") for c in (0.1, 0.2, 0.4, 0.8)]
        self.renewal = 0
        self.explored = self.spent = self.gate = self.q = 0.0
        self.gap, self.last = 500, 0
        self.unjudged = None
        self.trial = None
        self.seen, self.total = 0, 0.0  # losses
        self.estimates = [0.0] * n_arms
        self.t = 0  # rounds since the last restart
        self.verdicts = []

    @property
    def p(self):
        p = list(self.base.p)
        if self.trial is None:
            return p
        w = [self.trial["w"][j] if self.trial["active"][j] else 0.0 for j in range(self.K)]
        return [(1 - self.explore) * p[i] + self.explore * w[i] / sum(w) for i in range(self.K)]

    @property
    def cap(self):
        return math.sqrt(self.K * self.seen)

    @property
    def regret(self):
        return self.total - min(self.estimates)

    def update(self, arm, loss, weight):
        p = list(self.base.p)
        favorite = p.index(max(p))
        baseline = (0.5 + self.total) / (1 + self.seen) if self.centered else 0.0
        if self.trial is not None:
            self.trials = max(0.0, self.trials + (1 - p[arm] / self.p[arm]) * (loss - baseline))
        for i in range(self.K):
            self.estimates[i] += baseline + ((loss - baseline) / weight if i == arm else 0.0)
        self.base.update(arm, loss, weight)
        self.seen += 1
        self.total += loss
        self.t += 1
        if self.trial is None:
            self.outside(favorite, arm, loss)
        else:
            self.inside(arm, loss)

    def merge(self, i):
        n, s, _ = self.buffer[i]
        self.level[i][0] += n
        self.level[i][1] += s
        self.buffer[i][:2] = [0.0, 0.0]

    def outside(self, f, a, loss):
        if self.buffer[a][2] != self.renewal:
            self.merge(a)
            self.buffer[a][2] = self.renewal
        n, s = self.level[a]
        if a != f and n > 0 and self.level[f][0] > 0:
            self.explored += max(0.0, s / n - self.level[f][1] / self.level[f][0])
        if n < 30:
            self.level[a] = [n + 1, s + loss]
            return
        for cusum in self.cusums:
            cusum.update(s / n, n, loss)
        self.buffer[a][0] += 1
        self.buffer[a][1] += loss
        if all(cusum.S == 0 for cusum in self.cusums):
            self.renewal += 1
            return
        if self.buffer[a][0] > 2 * n + 50:
            self.new_renewal()
            return
        highest = max(self.cusums, key=lambda cusum: cusum.S)
        threshold = 2 + math.log(1 + self.t)
        if highest.side == "worse":
            threshold += self.q
        if threshold <= highest.S:
            self.alarm(f, highest)

    def new_renewal(self):
        for cusum in self.cusums:
            cusum.zero()
        self.renewal += 1

    def alarm(self, f, cusum):
        if self.unjudged is not None:
            left, saved = self.unjudged
            self.q = saved + 2 if f == left else 0.0
            self.unjudged = None
        for i in range(self.K):
            if self.buffer[i][2] != self.renewal:
                self.merge(i)
            self.buffer[i][:2] = [0.0, 0.0]
        before = [(s + 0.5) / (n + 1) for n, s in self.level]
        count = cusum.count
        edge = 0.5 / (count + 1)
        star = min(max(before[f] + cusum.residuals / count, edge), 1 - edge)
        self.new_renewal()
        if cusum.side == "better":
            self.move(f, star, before)
            self.level[f] = [count, count * star]
            return
        floor = 2 * math.sqrt(self.K)
        money = self.budget * self.explored + floor - self.spent + max(0.0, -self.regret) / 4
        if money >= self.gate:
            allowance = money
        elif self.seen - self.last >= self.gap:
            allowance = floor
        else:
            return
        if self.trials > self.cap:
            return
        if money < self.gate or money < floor:
            self.gap *= 2
            self.last = self.seen
        self.trial = {
            "f": f,
            "before": before,
            "star": star,
            "count": count,
            "allowance": allowance,
            "length": 0,
            "n": [0] * self.K,
            "s": [0.0] * self.K,
            "active": [j != f for j in range(self.K)],
            "w": [1.0] * self.K,
        }

    def move(self, f, mean, before):
        for j in range(self.K):
            if j != f:
                n = min(self.level[j][0], 10)
                self.level[j] = [n, n * together(before[j], mean, before[f])]

    def inside(self, a, loss):
        trial = self.trial
        f, before, n, s = trial["f"], trial["before"], trial["n"], trial["s"]
        trial["length"] += 1
        n[a] += 1
        s[a] += loss
        x0 = min(trial["count"], 3)
        mf = (s[f] + x0 * trial["star"]) / (n[f] + x0)
        h1, h2 = 4 + self.q, 1.5 + 3 / (self.K - 1)
        others = [j for j in range(self.K) if j != f]
        sampled = [j for j in others if n[j] > 0]
        ratios, stories = {}, {}
        for j in sampled:
            mean, held = s[j] / n[j], self.level[j][0]
            ratios[j] = glr(n[j], s[j], n[f], s[f])
            trial["w"][j] = math.exp(min(max(ratios[j], -2), 3))
            common = together(before[j], mf, before[f])
            stories[j] = n[j] * held / (n[j] + held) * (kl(mean, common) - kl(mean, before[j]))
            if ratios[j] <= -h2 or (mean >= mf and stories[j] <= -h2):
                trial["active"][j] = False
        N = sum(n[j] for j in others)
        pooled = glr(N, sum(s[j] for j in others), n[f], s[f])
        story = sum(stories.values())
        cost = sum(n[j] * (s[j] / n[j] - mf) for j in sampled)
        back = n[f] * (kl(s[f] / n[f], trial["star"]) - kl(s[f] / n[f], before[f])) if n[f] else 0.0
        verdict = None
        if (
            (ratios and max(ratios.values()) >= h1 + math.log(self.K))
            or pooled >= h1
            or (story >= h1 and pooled >= 1 and any(before[j] < mf for j in others))
        ):
            verdict = "confirm" if self.regret <= self.cap else "unresolved"
        elif not any(trial["active"]):
            verdict = "reject"
        elif back >= 4:
            verdict = "back"
        elif (
            cost - math.sqrt(N * mf * (1 - mf)) > trial["allowance"]
            or self.trials > self.cap
            or trial["length"] > 400 * self.K + self.t
        ):
            verdict = "reject" if story < 0 and pooled < 0 else "unresolved"
        if verdict is not None:
            self.close(verdict, mf, cost)

    def close(self, verdict, mf, cost):
        f, before, n, s = (self.trial[key] for key in ("f", "before", "n", "s"))
        self.trial = None
        self.verdicts.append((self.seen, verdict))
        self.spent += max(0.0, cost)
        if verdict == "confirm":
            self.base.restart(sum(s), sum(n))
            self.level = [[0.0, 0.0] for _ in range(self.K)]
            for buffer in self.buffer:
                buffer[:2] = [0.0, 0.0]
            self.unjudged = f, self.q
            self.gap, self.gate, self.t = 500, 0.0, 0
            return
        self.q += 1
        if verdict == "unresolved":
            self.gate = (self.budget * self.explored + 2 * math.sqrt(self.K)) / 2
        if verdict == "reject":
            self.move(f, mf, before)
            self.level[f] = [0.0, 0.0]
        if verdict in ("reject", "back"):
            for i in range(self.K):
                self.level[i][0] += n[i]
                self.level[i][1] += s[i]
