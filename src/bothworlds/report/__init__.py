"""Reports of a study: numbers first, then tables, charts and one page. Needs the extra ``lab``."""
