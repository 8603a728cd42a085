"""Arms that sleep, arrive and retire while a bandit plays."""

from __future__ import annotations

import numpy as np

from bothworlds.bandit.arms import require_changing_arms
from bothworlds.bandit.learned_range import LearnedRange
from bothworlds.bandit.playing import Playing
from bothworlds.bandit.pull import Label
from bothworlds.policies.base import grow, retire


class Changing(Playing):
    """A loop whose arms may change."""

    def disable(self, arm: Label) -> None:
        """Let an arm sleep until :meth:`enable` wakes it: it is not drawn, and its share goes to the others.

        Nobody knows what it would have lost. It gets the learner's own loss, so that sleeping is neither to
        its credit nor to its debit. Feedback of earlier pulls counts as ever. Disabling it again changes
        nothing.

        Parameters
        ----------
        arm:
            One of ``bandit.arms``, and not the last one that is enabled.

        Notes
        -----
        With arms that sleep you get: never worse than any single arm, on the rounds when that arm was
        available, by more than O(√(T·√(A·K))), A the largest number of arms available at once; no log T
        promise. That is proved for Tsallis-INF, not for the default. Other policies do the same, or compare
        the arms that are awake; some refuse. docs/arms.md has the rest.

        Examples
        --------
        >>> import bothworlds as bw
        >>> bandit = bw.Bandit(["blue", "green", "red"], seed=7)
        >>> bandit.disable("green")
        >>> bandit.probabilities
        {'blue': 0.5, 'green': 0.0, 'red': 0.5}
        >>> bandit.enable("green")
        >>> {arm: round(p, 3) for arm, p in bandit.probabilities.items()}
        {'blue': 0.333, 'green': 0.333, 'red': 0.333}
        """
        with self._lock:
            require_changing_arms(self._policy, self._shares, self._problem)
            self._roster.disable(arm)

    def enable(self, arm: Label) -> None:
        """Wake an arm that was disabled, with all that is known of it; harmless for one that is awake.

        Parameters
        ----------
        arm:
            One of ``bandit.arms``.
        """
        with self._lock:
            require_changing_arms(self._policy, self._shares, self._problem)
            self._roster.enable(arm)

    def add(self, arm: Label) -> None:
        """A new arm, which can be drawn from now on.

        It starts as if it had been asleep so far: with the learner's own loss. Regret to it counts from its
        arrival on. Rates that depend on the number of arms go by those seen so far, retired ones included; a
        horizon stays what it is.

        Parameters
        ----------
        arm:
            A label that no arm has or had.

        Examples
        --------
        >>> import bothworlds as bw
        >>> bandit = bw.Bandit(["blue", "green"], seed=7)
        >>> bandit.add("red")
        >>> bandit.arms
        ('blue', 'green', 'red')
        """
        with self._lock:
            require_changing_arms(self._policy, self._shares, self._problem)
            label = self._roster.new_label(arm)
            params = self._policy.resolve(len(self._arms) + 1, self._horizon, self._problem)
            self._state = grow(params, self._state)
            self._params = params
            everyone = np.ones(len(self._arms))
            self._awake_at = {
                number: np.append(self._awake_at.get(number, everyone), 0.0) for number, _ in self._open
            }
            self._arms = (*self._arms, label)
            self._roster = self._roster.with_arms(self._arms)
            self._pulls.append(0)
            self._seen.append(0)
            self._sums.append(0.0)
            if isinstance(self._range, LearnedRange):
                self._range.add()
            if self._record is not None:
                self._record.add_arm()
            self._bind()

    def retire(self, arm: Label) -> None:
        """Let an arm go for good: it is never drawn again, and has no weight beside the others.

        Feedback of its outstanding pulls can still be given. Its label stays taken.

        Parameters
        ----------
        arm:
            One of ``bandit.arms``, and not the last one that is enabled.

        Examples
        --------
        >>> import bothworlds as bw
        >>> bandit = bw.Bandit(["blue", "green", "red"], seed=7)
        >>> bandit.retire("green")
        >>> bandit.probabilities, bandit.retired
        ({'blue': 0.5, 'red': 0.5}, ('green',))
        """
        with self._lock:
            require_changing_arms(self._policy, self._shares, self._problem)
            number = self._roster.retire(arm)
            retire(self._params, self._state, number)
            if isinstance(self._range, LearnedRange):
                self._range.forget(number)

    @property
    def disabled(self) -> tuple[Label, ...]:
        """The labels of the arms that are disabled."""
        return self._roster.labels(self._roster.disabled)

    @property
    def retired(self) -> tuple[Label, ...]:
        """The labels of the arms that have retired."""
        return self._roster.labels(self._roster.retired)
