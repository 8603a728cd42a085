"""Studies: experiment files, what runs them, and where results are kept. Needs the extra ``lab``."""
