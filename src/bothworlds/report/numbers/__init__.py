"""The numbers of a study: tables as DataFrames, their statistics, scores. Nothing here prints or draws."""
