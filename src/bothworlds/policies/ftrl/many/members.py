"""Which arms are in which bucket: lists that grow side by side in one array."""

from __future__ import annotations

from bothworlds._jit import FloatArray, kernel
from bothworlds.policies.ftrl.many.state import (
    COUNT,
    EMPTY,
    FILLED,
    HOME,
    LOW,
    ORDER,
    PER_ARM,
    PLACE,
    ROOM,
    START,
    USED,
)


@kernel
def sort_by_start(buckets: FloatArray, used: int) -> None:
    """Put the buckets into the order in which their members stand."""
    for i in range(used):
        j = i
        while j > 0 and buckets[START + int(buckets[ORDER + j - 1])] > buckets[START + i]:
            buckets[ORDER + j] = buckets[ORDER + j - 1]
            j -= 1
        buckets[ORDER + j] = i


@kernel
def compact(members: FloatArray, buckets: FloatArray, scalars: FloatArray) -> None:
    """Give every bucket room for a quarter more members, at the beginning of the memory.

    First all members move down without gaps, in the order in which they stand, then up again from the top:
    none is ever written over another.
    """
    used = int(scalars[USED])
    sort_by_start(buckets, used)
    filled = 0
    needed = 0
    for at in range(used):
        bucket = int(buckets[ORDER + at])
        first, count = int(buckets[START + bucket]), int(buckets[COUNT + bucket])
        for i in range(count):
            members[filled + i] = members[first + i]
        buckets[START + bucket] = filled
        filled += count
        room = count + count // 4 + 8 if count > 0 or buckets[LOW + bucket] != EMPTY else 0
        buckets[ROOM + bucket] = room
        needed += room
    scalars[FILLED] = needed
    for at in range(used - 1, -1, -1):
        bucket = int(buckets[ORDER + at])
        first, count = int(buckets[START + bucket]), int(buckets[COUNT + bucket])
        needed -= int(buckets[ROOM + bucket])
        for i in range(count - 1, -1, -1):
            members[needed + i] = members[first + i]
        buckets[START + bucket] = needed


@kernel
def enlarge(members: FloatArray, buckets: FloatArray, scalars: FloatArray, bucket: int) -> None:
    """Make room for more members of a bucket: twice as many, at the end."""
    count = int(buckets[COUNT + bucket])
    filled = int(scalars[FILLED])
    room = 2 * count + 8
    if filled + room > members.size:
        compact(members, buckets, scalars)
        return
    first = int(buckets[START + bucket])
    for i in range(count):
        members[filled + i] = members[first + i]
    buckets[START + bucket] = filled
    buckets[ROOM + bucket] = room
    scalars[FILLED] = filled + room


@kernel
def join_bucket(
    arms: FloatArray, members: FloatArray, buckets: FloatArray, scalars: FloatArray, arm: int, bucket: int
) -> None:
    """Make an arm a member."""
    count = buckets[COUNT + bucket]
    if count == buckets[ROOM + bucket]:
        enlarge(members, buckets, scalars, bucket)
    members[int(buckets[START + bucket] + count)] = arm
    arms[PER_ARM * arm + HOME] = bucket
    arms[PER_ARM * arm + PLACE] = count
    buckets[COUNT + bucket] = count + 1.0


@kernel
def leave_bucket(arms: FloatArray, members: FloatArray, buckets: FloatArray, arm: int, bucket: int) -> None:
    """End the membership of an arm; the last member takes its place. A bucket without members is gone."""
    place = arms[PER_ARM * arm + PLACE]
    last = buckets[COUNT + bucket] - 1.0
    first = buckets[START + bucket]
    other = members[int(first + last)]
    members[int(first + place)] = other
    arms[PER_ARM * int(other) + PLACE] = place
    buckets[COUNT + bucket] = last
    if last == 0.0:
        buckets[LOW + bucket] = EMPTY
