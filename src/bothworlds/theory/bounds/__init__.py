"""Regret bounds in numbers: what is stated about which policy, and the complexities that it is made of."""
