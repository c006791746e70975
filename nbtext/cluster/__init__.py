"""The same fold on a Dask cluster: an optional extra."""
