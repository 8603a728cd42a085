"""Which tests `make slow` has in place of `make test`, where cases say so."""

from __future__ import annotations

import pytest

from cases import Case


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        case = getattr(getattr(item, "callspec", None), "params", {}).get("case")
        if isinstance(case, Case) and case.again:
            item.add_marker(pytest.mark.slow)
