"""The client of the decision service: needs httpx, and nothing that the service needs.

>>> from bothworlds.client import Client
>>> client = Client("http://127.0.0.1:8787", key="bw_…")  # doctest: +SKIP
"""

from bothworlds.client.aio import AsyncClient
from bothworlds.client.answers import Decision, Drained, Outcome
from bothworlds.client.sync import Client
from bothworlds.errors import RefusedError, SpoolError, UnreachableError

__all__ = [
    "AsyncClient",
    "Client",
    "Decision",
    "Drained",
    "Outcome",
    "RefusedError",
    "SpoolError",
    "UnreachableError",
]
