"""The paper's lemmas, checked on games: the games, the checks, and the verdict."""
