"""`nbtext vectorize`: texts in, a sparse matrix out."""

from __future__ import annotations

from typing import Any

import click

from nbtext.cli.options import (
    StagedCommand,
    collected,
    feature_options,
    option,
    reading_options,
    run_options,
    sources,
)
from nbtext.cli.running import jobs_or_all, output_or_pipe, reading
from nbtext.documents.settings import ReadingSettings
from nbtext.features.settings import FeatureSettings
