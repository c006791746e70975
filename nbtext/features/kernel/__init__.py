"""The parts of the compiled kernel that count features, and how a wheel is built of the kernel."""
