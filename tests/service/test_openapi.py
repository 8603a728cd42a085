"""The service keeps to what it says of itself: requests made by schemathesis of the served description."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings

EXAMPLES = int(os.environ.get("BOTHWORLDS_EXAMPLES", "4"))  # for each endpoint; `make torture` has more
SKIPPED = ("/v1/stream",)  # it has no end
# that an arm is one of the experiment, or a reward in its range, is more than a schema says: not checked is
# that what fits the schema is taken


@pytest.fixture(scope="module")
def button(served):
    """An experiment that half of the requests are about."""
    with served.client() as client:
        client.post("/v1/experiments", json={"name": "button", "arms": ["a", "b"]}).raise_for_status()
    return "button"


def test_the_service_is_as_it_describes_itself(served, button):
    import schemathesis  # a second, which other processes need not wait for
    from schemathesis.checks import positive_data_acceptance

    schema = schemathesis.openapi.from_url(f"{served.base}/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations()]
    described = {
        f"{method.upper()} {path}"
        for path, methods in schema.raw_schema["paths"].items()
        for method in methods
    }
    assert {operation.label for operation in operations} == described - {"GET /openapi.json"}  # itself
    checked, headers = 0, {"Authorization": f"Bearer {served.key}"}
    for operation in operations:
        if operation.path in SKIPPED:
            continue

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=EXAMPLES < 10,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def ask(case):
            nonlocal checked
            checked += 1
            if "{experiment}" in case.path and checked % 2:
                case.path_parameters["experiment"] = button
            case.call_and_validate(headers=headers, excluded_checks=[positive_data_acceptance])

        ask()
    assert checked >= len(operations) - len(SKIPPED)
