"""FTRL in time that hardly depends on the number of arms.

For policies in which a round changes one arm only: p_i = b_i·(c/(L_i − x))^s with a whole s, where nothing
but c and x is shared by the arms. Tsallis-INF (s = 2, b = 1), its decoupled variant (s = 3, b = 1) and the
log-barrier with counted rates (s = 1, c = 1, b_i = C + γ_i) are of this form.

Three levels, each summing up the one below:

* *arms*: L_i and b_i, exact;
* *buckets* (``buckets.py``): arms whose L lie in a short interval, short against its distance from x.
  A bucket knows the moments Σ b_i·d_i^m of the places of its arms within the interval, exactly, so that
  Σ b_i/(L_i − x)^k is a series that converges for every x far enough below. When x comes near, the bucket
  makes way for narrower ones. When x recedes, nothing needs to be done;
* one *series* (``series.py``): the Taylor series of Σ b_i/(L_i − x)^k around a recent x, from the buckets.
  Within its reach a round costs a handful of operations, whatever the number of arms.

A bucket also bounds the probability of its arms from above, tightly: that is all that drawing an arm by
rejection needs (``sample.py``).
"""
