"""Counting and predicting on a Dask cluster: an optional extra."""
