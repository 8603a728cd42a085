"""The folder of a study: a manifest, and one Parquet file per chunk that is done.

::

    OUT/
      experiment.toml, modules/      the file as written, and the Python files that it names
      manifest.json                  what the study is, how it is cut into chunks, and its runs
      chunks/00012-<sha256>.parquet  the name carries the checksum of the content
      aside/                         chunks that are damaged, or not of this study: moved, never deleted
      lock                           held while a run writes
"""

from bothworlds.experiments.store.reading import Store
from bothworlds.experiments.store.writing import StoreWriter

__all__ = ["Store", "StoreWriter"]
