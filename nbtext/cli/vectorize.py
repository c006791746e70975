"""`nbtext vectorize`: texts in, a sparse matrix out."""

from __future__ import annotations
