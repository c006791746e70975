"""Numbers in sentences of the pages and of help texts are those of the code."""

import importlib
import re
import textwrap
from pathlib import Path

import click
import pytest

import nbtext
from nbtext.cli.main import cli

PACKAGE = Path(nbtext.__file__).parent
# where a number is, how it is computed, and what is said of it
SENTENCES = """
features.matrix => MAX_UNNAMED_COLUMNS => matched by number, at most {:,}
features.matrix => MEMORY_BYTES / 2**20 => a temporary file beyond {:.0f} MiB
features.matrix => UNPACKED_RATIO => unpacks to more than {} times its size
cli.running => MAX_INVALID_SHARE => If they are more than {:.0%} of the text
evaluation.groups => MAX_RANKED => For each label (of at most {}) it has two AUROCs
evaluation.groups => MIN_GROUP_GAIN => at least {:g} above the accuracy of the most frequent label
interrupts => INTERRUPTED => | {} | interrupted |
bayes.smoothing => RACE_SIZE => The first {} documents of the sample
bayes.smoothing => CLEAR => lower by more than {:g} standard deviations; up to
bayes.smoothing => COMPARISON_SIZE => up to {:,} documents decide between the others
bayes.smoothing => 10**DECADES[0] => the α from {:g} to 10
bayes.smoothing => 10**DECADES[1] => selects the value from 0.01 to {:g} with the lowest
bayes.smoothing => SCORES_AT_ONCE / 1e6 => at most {:.1f} million scores of a document and a label
bayes.few_documents => MAX_CLASS_DOCUMENTS => With up to {} documents a label on average, Dirichlet smoothing
bayes.few_documents => MAX_CLASS_DOCUMENTS => with up to {} documents a label on average, it compares dirichlet
bayes.few_documents => " or ".join((", ".join(f"{each:g}" for each in TRIED_SMOOTHINGS[:2]), f"{TRIED_SMOOTHINGS[2]:g}")) => with the smoothing ({}) that has the lowest
bayes.gaussian => f"{FLOOR:g}".replace("-0", "-") => added to all variances; `auto` is {}
bayes.settings => CONFIDENCE * 100 => this recall for new mail with {:g} % confidence
bayes.settings => VECTOR_WORDS => up to `vector_words` ({:,})
bayes.settings => MAX_WITH_LENGTHS => and with more than {:,} documents with their L2 norm
model.corpus_counts => CALIBRATION_SIZE => The calibration is fitted to {:,} documents
model.corpus_counts => SAMPLE_SIZE => Leave-one-out uses all documents up to {:,}
model.corpus_counts => SAMPLE_SIZE => the counts of at most {:,} documents that are used for the fit
evaluation.search => MIN_VALIDATED => With {} to 256 documents of one label each, the estimate
evaluation.search => MAX_VALIDATED => With 20 to {} documents of one label each, the estimate
evaluation.search => N_VALIDATION_FOLDS => come from searches on {} folds
bayes.decision_offsets => 1 - 0.05 / ERRORS_OF_STACKS => that `confidence` allows: with {:g} for 0.95
bayes.smoothing => NOISE_OF_FEW => of n documents, ν is at least {} / (n + 2)
evaluation.search => FEW => by a share of {:g} / √n if the accuracies are equal
evaluation.search => FEW / 2 => and of {:g} / √n less the gain
evaluation.search => SUBSET_SIZE => the most accurate two on {:,} documents
evaluation.search => MAX_SEARCHED_WEIGHTS / 1e6 => if its features times labels are more than {:.0f} million
evaluation.search => MAX_STACK_WORK / 1e6 => the entries of its matrix times labels more than {:.0f} million
evaluation.search => MAX_SEARCHED_WEIGHTS * 8 / 1e9 => linear models add up to {:.1f} GB
evaluation.search => WEIGHTING_SIZE => where its log-loss on {:,} documents is lower by 5 %
evaluation.search => 1 - MAX_LOG_LOSS_SHARE => documents is lower by {:.0%}
evaluation.settings => MAX_SIZES["bytes"] / 1e6 => Of more than {:.0f} MB of text or
evaluation.settings => MAX_SIZES["files"] => MB of text or {:,} files
evaluation.settings => SAMPLE_SIZES["bytes"] / 1e6 => reads a sample of {:.0f} MB or
evaluation.settings => SAMPLE_SIZES["files"] => MB or {:,} files, tries Naive Bayes
evaluation.settings => TIME_STEPS => --folds is the number of parts that are predicted, {} by default
features.settings => MAX_VIEWS => counts each document in several ways, at most {}
features.settings => MAX_HASH_BITS => storing a vocabulary; N is from 1 to {}
features.settings => LONGEST_NGRAM => `--ngrams` is at most {}
features.settings => LONGEST_PATTERN => Any other `--token-pattern` has at most {:,} characters
features.analyzer => MAX_TEXT_CHARACTERS / 1e6 => applies to texts of at most {:.0f} million characters
features.analyzer => MIN_SECONDS => It is stopped after {:.0f} seconds plus one second per million characters
features.analyzer => LONGEST_TOKEN => A token longer than {:,} bytes is ignored
features.stored_documents => MAX_ENTRIES_IN_MEMORY / 1e6 => Up to {:.1f} million entries
model.view_selection => MAX_SHORT_WORDS => if a document has at most {:.0f} words on average
model.view_selection => CHARACTER_VIEW[-3:].replace(",", " to ") => character n-grams of {} within words
model.view_selection => UNSPACED_VIEWS[0][-1] => they are words and character n-grams of 1 to {}
model.view_selection => MAX_SELECTED_BYTES / 1e6 => or a source of more than {:.0f} MB (a compressed
model.view_selection => MAX_CHARACTER_BYTES / 1e6 => From sources of more than {:.0f} MB, character n-grams are not counted
bayes.combination => MIN_INFORMED => tells labels apart in fewer than {:.0%} of these documents
linear.stacking => C_OF_CHARACTERS => the `C` of NB-SVM is {:g}
linear.stacking => BAYES[0][1] => with a smoothing of {:g} times the mean weight
linear.stacking => BAYES[1][1] => (with α = {:g}, in units of the mean x
linear.stacking => MIN_SHARE => as long as it has less than {:.0%} of the weight
linear.learning => C_SELECTION_SIZE => or of as many folds as hold {:,}
linear.learning => MAX_LABEL_WEIGHTS / 1e6 => All labels together keep {:.0f} million weights
linear.learning => MAX_LABEL_SCORES / 1e6 => times labels are at most {:.0f} million
linear.learning => MAX_LABEL_SCORES // 2**14 => so that with more than {:,} labels fewer documents are held out
linear.vectors => MAX_FITTED => The regression is fitted to at most {:,} documents
linear.vectors => VARIANCE => with a normal prior of variance {:.0f} for each
artifact.reduction => REDUCTION_SAMPLE_SIZE => cross-validation on at least {:,} training documents
artifact.storage => MAX_RATIO => a compressed array takes at most {} times its bytes
artifact.storage => MAX_UNPACKED >> 20 => times its bytes, or {} MiB
bayes.conformal => QUANTILE => is below the {:.0%} quantile of the training documents
evaluation.evaluator => MAX_CONFUSED => With more than {:,} labels, an evaluation has no confusion
evaluation.diagnosis => N_TOP => the texts, of at most {} documents for each true and predicted label
evaluation.curves => N_BINS => difference between probability and frequency of a label, in {} bins
report.explanation => MAX_EXPLAINED_DOCUMENTS => writes a page of the first {} documents
report.explanation => N_FEATURES_SHOWN => {} in a table, 25 on a page, else all
report.explanation => MAX_FEATURES => in a table, {} on a page, else all
applications.vectors.table => N_COMMON => the mean of the first {:,} ones is subtracted
applications.vectors.table => MAX_VECTOR_LINE_BYTES >> 20 => A line of a table has at most {} MiB
applications.vectors.table => MAX_DIMENSIONS => and a word 2 to {:,} numbers
applications.keywords.keywords => KEYWORD_SMOOTHING => multinomial Naive Bayes on binary counts, with smoothing {:g}
applications.keywords.keywords => PSEUDO_SHARE => gets N / ({}K) artificial documents
applications.keywords.training => MAX_FALL => If the share falls by more than {:g}, it prints a warning
applications.unlabeled.own_labels => MAX_LEARNED => labels up to {:,} of the unlabeled texts
applications.prevalence.shares => SHARE_LEVEL => and prints a {:.0%} interval
applications.prevalence.shares => MAX_LOST => a loss or gain of more than {:.0%} of the information
applications.prevalence.drift => MIN_DRIFT => If more than {:.0%} of the words of the documents deviate
applications.prevalence.drift => MAX_DRIFT => If more than {:.1%} deviate, any share is possible
bayes.prevalence => MAX_SHARES => A single-label model can have at most {} labels
applications.review.findings => MAX_SHOWN_TEXT => and the first {} characters of each document
applications.review.review_page => MAX_FINDINGS => shows the first {} findings
applications.review.near_duplicates => SIMILAR => sets of words with a Jaccard similarity of {:g} or more
applications.review.label_noise => MAX_JUDGED_LABELS => the probabilities of its {} most probable labels
applications.label.command => Label.__dataclass_fields__["pool"].default => If SOURCE has more than {:,}, a random sample
applications.serve.models => MAX_EXPLAINED_CHARACTERS => explanations of documents of up to {:,} characters
applications.serve.models => MAX_EXPLAINED_LABELS => one for each predicted label, {} at most
applications.serve.requests => MAX_DOCUMENTS => {:,} documents and 250,000 values of JSON
applications.serve.requests => MAX_REQUEST_VALUES => documents and {:,} values of JSON
applications.compare.learning_curves => LARGEST_SHARE => up to {:.0%} of SOURCE
"""


@pytest.fixture(scope="module")
def said() -> str:
    """All sentences of the pages and of the help of all commands, on one line."""
    pages = [PACKAGE.parent / "README.md", *sorted((PACKAGE / "guides").glob("*.md"))]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    for name in cli.list_commands(click.Context(cli)):
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        shown = command.get_help(click.Context(command, info_name=name, max_content_width=500))
        texts.append(textwrap.dedent(shown))
    return re.sub(r"\s+", " ", re.sub(r"(\d)\s+%", r"\1%", " ".join(texts)))


@pytest.mark.parametrize("line", SENTENCES.strip().splitlines())
def test_numbers_are_those_of_the_code(said: str, line: str) -> None:
    """Each sentence has the number of the code now."""
    module, expression, sentence = line.split(" => ")
    value = eval(expression, vars(importlib.import_module(f"nbtext.{module}")))
    assert re.sub(r"(\d)\s+%", r"\1%", sentence.format(value)) in said
