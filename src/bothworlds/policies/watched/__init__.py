"""A watch over another policy: ``watched.py`` is the policy, ``alarm.py`` notices, ``trial.py`` finds out."""
