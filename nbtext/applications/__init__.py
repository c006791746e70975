"""Applications: folders that the rest of nbtext works without, each found by its folder."""
