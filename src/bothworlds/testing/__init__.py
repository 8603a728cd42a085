"""The contract of policies, environments and regularizers, as functions that any test can call.

Each says in its error which promise is broken, with numbers, and what to do. They take a few seconds, most of
which is compiling.

>>> import bothworlds as bw
>>> from bothworlds.testing import check_environment, check_policy, check_regularizer
>>> check_policy(bw.UCB1())
>>> check_environment(bw.environments.Bernoulli(n_arms=3, gap=0.2))
>>> check_regularizer(bw.Shannon())

``POLICY_CHECKS``, ``ENVIRONMENT_CHECKS`` and ``REGULARIZER_CHECKS`` hold the single checks, for tests that
want a line each: ``@pytest.mark.parametrize("check", POLICY_CHECKS)``. Each takes a ``PolicyCase``, an
``EnvironmentCase`` or a regularizer.
"""

from bothworlds.testing.environments import ENVIRONMENT_CHECKS, EnvironmentCase, check_environment
from bothworlds.testing.policies import POLICY_CHECKS, PolicyCase, check_policy
from bothworlds.testing.regularizers import REGULARIZER_CHECKS, check_regularizer

__all__ = [
    "ENVIRONMENT_CHECKS",
    "POLICY_CHECKS",
    "REGULARIZER_CHECKS",
    "EnvironmentCase",
    "PolicyCase",
    "check_environment",
    "check_policy",
    "check_regularizer",
]
