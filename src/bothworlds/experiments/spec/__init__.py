"""Experiment files: what they may hold, how they are read, and what is said of mistakes.

>>> from bothworlds.errors import SpecError
>>> from bothworlds.experiments.spec import parse
>>> text = '''
... horizon = 1000
... replications = 8
... [[policy]]
... kind = "tsallis-inf"
... estimater = "rv"
... [[environment]]
... kind = "bernoulli"
... n_arms = 4
... gap = [0.1, 1.5]
... '''
>>> try:
...     parse(text, source="study.toml")
... except SpecError as error:
...     print(error)
study.toml has 2 mistakes:
  line 6, policy[0].estimater: unknown key 'estimater'; did you mean 'estimator'? tsallis-inf takes: estimator
  line 10, environment[0].gap[1]: gap must be a finite number above 0 and at most 1, got 1.5
"""

from bothworlds.experiments.spec.reader import parse, read
from bothworlds.experiments.spec.schema import json_schema
from bothworlds.experiments.spec.starter import starter_text

__all__ = ["json_schema", "parse", "read", "starter_text"]
