"""The files that the modules of the compiled kernel share, and how a wheel is built of them."""
