"""The settings of training by keywords."""

from __future__ import annotations

from nbtext.records import Strings, frozen
from nbtext.registry import offer
from nbtext.settings import Excludes, Settings, setting


def parse_keywords(path: str) -> dict[str, Strings]:
    from nbtext.applications.keywords.keyword_file import read_keywords

    return read_keywords(path)


@frozen(kw_only=True)
class KeywordSettings(Settings):
    """How a model is trained by keywords."""

    TITLE = "Unlabeled documents"
    RULES_OF_COMMAND = (
        Excludes("keywords", "model=best"),
        Excludes("keywords", "names"),
        Excludes("keywords", "cluster"),
        Excludes("max_model_bytes", "keywords"),
    )

    keywords: dict[str, Strings] | None = setting(
        None,
        'Words and phrases of each label, instead of labeled documents: TOML such as spam = ["free", "prize '
        'money"], or CSV with a label and its words on each line. SOURCE holds the unlabeled documents. With '
        "--unlabeled, SOURCE holds labeled documents, and --unlabeled names the others."
        + offer("unlabeled", " --em may be added.")
        + " Memory grows with the number of documents.",
        file="input",
        parse=parse_keywords,
    )
    em: int | None = setting(None, is_option=False)  # of the application `unlabeled`
