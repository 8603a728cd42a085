"""Numbers with their nouns, in sentences."""

from __future__ import annotations


def plural(n: int, noun: str) -> str:
    """The noun as it stands after a number.

    >>> plural(1, "policy"), plural(2, "policy"), plural(0, "process"), plural(5, "arm")
    ('policy', 'policies', 'processes', 'arms')
    """
    if n == 1:
        return noun
    if noun.endswith("y"):
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith("s") else "s")


def counted(n: int, noun: str) -> str:
    """A number and its noun.

    >>> counted(1, "cell"), counted(1200, "replication")
    ('1 cell', '1,200 replications')
    """
    return f"{n:,} {plural(n, noun)}"


def some_are(n: int, total: int, noun: str) -> str:
    """A part of a number of things, and the verb that follows it.

    >>> some_are(1, 1, "chunk"), some_are(1, 8, "chunk"), some_are(3, 8, "chunk")
    ('1 of 1 chunk is', '1 of 8 chunks is', '3 of 8 chunks are')
    """
    return f"{n:,} of {counted(total, noun)} {'is' if n == 1 or total == 1 else 'are'}"
