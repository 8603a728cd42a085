"""Follow the regularized leader: one machine, its parts, and the policies that are values of it."""
