"""Words that neither a training text nor a table has: a model of a static table divides them into
pieces while it predicts.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from made_files import write_rows
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from nbtext import TextClassifier
from nbtext.artifact.model import save_model_file
from nbtext.errors import ArtifactError, AssumptionWarning
from nbtext.model.fitted_model import DocumentNumbers, TrainedModel

RANDOM = Random(3)
SYLLABLES = [a + b for a in "bcdfglmnprst" for b in "aeiou"]
WORDS = sorted({"".join(RANDOM.choices(SYLLABLES, k=RANDOM.randint(1, 4))) for _ in range(400)})
LABELS = ("a", "b", "c")
TRAINED = {label: RANDOM.sample(WORDS, 12) for label in LABELS}
TEXTS = [(" ".join(RANDOM.sample(TRAINED[label], 6)), label) for label in LABELS * 4]
NEW = sorted({*WORDS} - {word for words in TRAINED.values() for word in words})
OTHERS = [" ".join(RANDOM.sample(NEW, 5)) for _ in range(30)]


def word_piece() -> Any:
    """Its pieces are written here: those that a trainer finds differ from run to run."""
    starts = sorted({*"".join(SYLLABLES), *SYLLABLES})
    pieces = ["[UNK]", *starts, *(f"##{each}" for each in starts)]
    model = models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]")
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def pair_encoding() -> Any:
    """Its pieces are numbered in another order than that in which they are joined."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    steps = [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
    tokenizer.normalizer = normalizers.Sequence(steps)
    trainer = trainers.BpeTrainer(vocab_size=150, special_tokens=["<unk>"])
    tokenizer.train_from_iterator(WORDS, trainer)
    found = json.loads(tokenizer.to_str())
    vocabulary = found["model"]["vocab"]
    names = ["<unk>", *sorted({*vocabulary} - {"<unk>"})]
    found["model"]["vocab"] = {name: number for number, name in enumerate(names)}
    return Tokenizer.from_str(json.dumps(found))


@pytest.fixture(params=[word_piece, pair_encoding])
def table(request: Any, tmp_path: Path) -> str:
    """A folder with a static model."""
    make: Callable[[], Any] = request.param
    tokenizer = make()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    rows = np.random.default_rng(0).normal(size=(tokenizer.get_vocab_size(), 16))
    save_file({"rows": rows.astype(np.float32)}, tmp_path / "model.safetensors")
    return str(tmp_path)


def fit(table: str, **parameters: Any) -> TextClassifier:
    texts, labels = zip(*TEXTS, strict=True)
    return TextClassifier(vectors=table, **parameters).fit(texts, labels)


def test_a_word_weighs_the_same_whenever_it_is_divided(table: str) -> None:
    """In training, by the tokenizer, because it is a word of unlabeled texts; or by the model."""
    found = fit(table)
    expected = fit(table, more_words=tuple(NEW))
    assert len(NEW) > 100
    for text in OTHERS:
        (one,), (other,) = (each.explain([text]) for each in (found, expected))
        assert one.known == other.known == 1
        own, others = (
            {each.feature: each.log_odds for each in explained.contributions}
            for explained in (one, other)
        )
        assert own == pytest.approx(others, abs=1e-4)
        assert own.keys() == set(text.split())
        assert all(each.is_untrained for each in one.contributions)
        total = one.terms.prior + one.terms.absent + one.terms.calibration + sum(own.values())
        assert one.log_odds == pytest.approx(total, abs=1e-9)
    probabilities = found.predict_proba(OTHERS)
    np.testing.assert_allclose(probabilities, expected.predict_proba(OTHERS), atol=1e-3)
    one_by_one = np.concatenate([found.predict_proba([text]) for text in OTHERS])
    np.testing.assert_array_equal(one_by_one, probabilities)


@pytest.mark.parametrize(
    "options", ["", "--separate-fields --text-field title,text", "--model best"]
)
def test_as_commands_type_it(nbtext: Any, table: str, own_folder: None, options: str) -> None:
    """The file of a model, two fields and two views, several threads, and folds."""
    rows = [{"title": text[:9], "text": text, "label": label} for text, label in TEXTS * 2]
    write_rows(Path("train.jsonl"), rows)
    write_rows(Path("new.jsonl"), [{"title": text, "text": text} for text in OTHERS])
    nbtext(f"train train.jsonl --vectors {table} {options} -q -o m").ok()
    one, two = (nbtext(f"predict new.jsonl -m m --to jsonl -j {n}").ok() for n in (1, 2))
    assert one.out == two.out
    known = [record["known"] for record in one.records]
    assert min(known) > (0.3 if "best" in options else 0.99)
    explained = nbtext("explain new.jsonl -m m --to jsonl").ok().records
    for record, text in zip(explained, OTHERS, strict=True):
        names = {each["feature"] for each in record["contributions"] if each.get("is_untrained")}
        assert all(any(name.endswith(word) for name in names) for word in text.split())
    folds = nbtext(f"evaluate train.jsonl --vectors {table} {options} --folds 3 --to json -q").ok()
    assert folds.json["accuracy"] > 0.9


def test_what_cannot_divide_words_says_so(nbtext: Any, table: str, own_folder: None) -> None:
    """Exports, smaller models and matrices have the words alone."""
    fit(table).save("m")
    exported = nbtext("export m -o m.mjs").ok()
    assert "words that the model lacks the weights of their pieces" in exported.err
    assert '" -' not in Path("m.mjs").read_text()
    with pytest.warns(AssumptionWarning, match="the weights of their pieces"):
        fit(table).to_sklearn()
    Path("new").mkdir()
    Path("new/a.txt").write_text(" ".join(NEW))
    assert (
        "a matrix has no columns for them" in nbtext("vectorize new --like m -o new.npz").ok().err
    )
    nbtext("export m -o small.joblib --max-model-bytes 6000").ok()
    Path("new.txt").write_text(" ".join(NEW))
    explained = nbtext("explain new.txt -m small.joblib --to csv").ok().out
    assert " -" not in explained


def test_a_long_word_has_no_pieces(table: str) -> None:
    found = fit(table)
    assert found.explain([NEW[0] * 40])[0].known == 0
    assert found.explain([NEW[0] * 3])[0].known == 1


def test_a_text_without_words(table: str) -> None:
    """Beside others, and alone."""
    for parameters in ({}, {"model": "best"}):
        found = fit(table, **parameters)
        (none, _), (alone,) = (found.predict_proba(texts) for texts in (["", NEW[0]], [" ! "]))
        np.testing.assert_array_equal(none, alone)


@pytest.mark.parametrize(
    "parameters", [{"hash_bits": 8}, {"analyzer": "char"}, {"model": "complement"}]
)
def test_a_file_with_pieces_that_it_cannot_have(parameters: Any, tmp_path: Path) -> None:
    """Of hashed features, of characters, and of weights that are not sums."""
    texts, labels = zip(*TEXTS, strict=True)
    model = TextClassifier(**{"model": "multinomial", **parameters}).fit(texts, labels)
    wrong = replace(model.fitted_, longest_piece=3, documents=DocumentNumbers(12, (4, 4, 4)))
    save_model_file(TrainedModel(wrong, None), str(tmp_path / "m"))
    with pytest.raises(ArtifactError, match="longest_piece"):
        TextClassifier.load(tmp_path / "m")
