"""Drawing an arm in time that does not depend on how many there are: rejection under the buckets.

All members of a bucket have L of at least its low end and b of at most its size, so none is more probable
than ``size·nearness^s``, and few are much less. A uniform number picks a bucket by the sum of these bounds,
a member by what remains of it, and accepts by what remains of that: the number is used up bit by bit, and the
probability of every arm is as exact as in a table of sums. Further tries take further numbers, grown from
the first.
"""

from __future__ import annotations

from bothworlds._jit import FloatArray, kernel
from bothworlds.policies.ftrl.many.state import (
    COUNT,
    NEARNESS,
    PER_ARM,
    SIZE,
    START,
    USED,
    WEIGHT,
    ManyArmsState,
    distance,
    whole_power,
)
from bothworlds.rng import expand

TRIES = 10_000  # each fails with a probability of less than 4/5


@kernel
def envelope(buckets: FloatArray, bucket: int, power: int) -> float:
    """What b/(L − x)^power of no member exceeds."""
    return float(buckets[SIZE + bucket] * whole_power(buckets[NEARNESS + bucket], power))


@kernel
def pick(state: ManyArmsState, power: int, uniform: float) -> int:
    """An arm with probability proportional to b/(L − x)^power."""
    arms, members, buckets, scalars = state
    used = int(scalars[USED])
    total = 0.0
    for bucket in range(1, used):
        total += buckets[COUNT + bucket] * envelope(buckets, bucket, power)
    arm = 0
    for attempt in range(TRIES):
        target = total * (uniform if attempt == 0 else expand(uniform, attempt))
        rest = target
        chosen = 1
        for bucket in range(1, used):
            if buckets[COUNT + bucket] > 0.0:
                rest = target
                chosen = bucket
                target -= buckets[COUNT + bucket] * envelope(buckets, bucket, power)
                if target < 0.0:
                    break
        highest = envelope(buckets, chosen, power)
        place = rest / highest
        index = min(int(place), int(buckets[COUNT + chosen]) - 1)
        arm = int(members[int(buckets[START + chosen]) + index])
        value = arms[PER_ARM * arm + WEIGHT] * whole_power(1.0 / distance(arms, scalars, arm), power)
        if (place - index) * highest < value:
            return arm
    return arm
