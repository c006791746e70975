"""The views that training selects, and what a file keeps of them."""

from pathlib import Path
from random import Random

import pytest

from nbtext import TextClassifier, load_model, save_model
from nbtext.artifact import model as artifact
from nbtext.artifact.model import load_model_file
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.errors import ModelError
from nbtext.model import view_selection


@pytest.fixture(scope="module")
def texts() -> tuple[list[str], list[str]]:
    """Runs of a script without spaces, which hardly repeat, of syllables that tell the label."""
    random = Random(0)
    labels = ["up", "down"] * 120
    own = {"up": "高良増益", "down": "低悪減損"}
    return [
        "".join(random.choices(own[each] + "売上利率今年度前期比", k=12)) for each in labels
    ], labels


def test_a_large_file_has_no_counts_that_nobody_asked_for(
    texts: tuple[list[str], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It predicts nearly the same, has the same estimate, and says how to keep the counts."""
    full = TextClassifier().fit(*texts)
    save_model(full, tmp_path / "full")
    monkeypatch.setattr(artifact, "MAX_UNASKED_COUNTS", 100)
    save_model(full, tmp_path / "small")
    assert (tmp_path / "small").stat().st_size < (tmp_path / "full").stat().st_size / 2
    small = load_model_file(tmp_path / "small")
    assert small.fitted.estimate == full.fitted_.estimate
    assert small.fitted.view_choice == full.fitted_.view_choice
    assert small.statistics.n_documents == len(texts[0])
    with pytest.raises(ModelError, match="keep_sample"):
        small.counts.check_complete()
    found = load_model(tmp_path / "small").predict_proba(texts[0])
    assert abs(found - full.predict_proba(texts[0])).mean() < 0.01


def test_large_sources_are_counted_in_words(
    texts: tuple[list[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert TextClassifier().fit(*texts).fitted_.view_choice is not None
    monkeypatch.setattr(view_selection, "MAX_SELECTED_BYTES", 1000)
    assert TextClassifier().fit(*texts).fitted_.view_choice is None


def test_a_pipe_is_read_ahead_up_to_a_limit(tmp_path: Path) -> None:
    """Its documents are all read again afterwards, in their order, whether they are more or not."""
    import os
    import threading

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
