"""The HTTP service of `nbtext serve`."""
