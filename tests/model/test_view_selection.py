"""Sources that are measured, and read ahead, before their views are selected."""

import os
import threading
from pathlib import Path

from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source


def test_a_pipe_is_read_ahead_up_to_a_limit(tmp_path: Path) -> None:
    """Its documents are all read again afterwards, in their order, whether they are more or not."""
    lines = [f"text {number}" for number in range(400_000)]
    data = "\n".join(lines).encode()
    for limit in (10, 1 << 30):
        path = tmp_path / f"fifo{limit}"
        os.mkfifo(path)
        threading.Thread(target=path.write_bytes, args=(data,)).start()
        source = open_source((str(path),), InputSettings(input_format="lines", label="a"))
        source.keep_documents()
        assert (source.measure(limit) > limit) == (limit == 10)
        found = [text for block in source.blocks() for text in block.batch().columns[0]]
        assert found == lines
