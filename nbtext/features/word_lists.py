"""Entries of word lists, such as stop words and vocabularies, that can never match, and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from nbtext.errors import list_some
from nbtext.features.analyzer import Analyzer, has_own_pattern
from nbtext.features.settings import VIEW_END, FeatureSettings
from nbtext.features.stop_words import ENGLISH

MAX_NAMED_ENTRIES = 5  # entries of a sentence
NO_FEATURE = "it has no feature"
# of an entry in a text, which a token pattern may look at
SURROUNDINGS = ("{}", " {} ", "x {} x", "x{}x", ".{}.")
LOOKS_AROUND = re.compile(r"\(\?<?[=!]")  # in a pattern: it may match in yet other surroundings


def describe_unmatched(settings: FeatureSettings, keywords: Iterable[str] = ()) -> dict[str, str]:
    """Return how many entries of word lists can never match, and some of them with the cause, by
    setting.

    settings  their stop words and their vocabulary are checked; `fields` names the separate fields
    keywords  words and phrases, which are compared with texts as these settings read them
    """
    found = {}
    if settings.stop_words and settings.stop_words != ENGLISH:  # that list is for any pattern
        words = next(each for each in settings.of_views if each.stop_words)
        words = replace(words, ngrams=(1, 1), stop_words=(), stem=None, fields=())
        found["stop_words"] = _describe(settings.stop_words, _finder(words))
    if settings.vocabulary:
        names = [name + VIEW_END for name in settings.view] or [""]
        finders = {
            view + field: _finder(own)
            for view, own in zip(names, settings.of_views, strict=True)
            for field in [f"{name}:" for name in settings.fields] or [""]
        }

        def find_cause(entry: str) -> str:
            prefix = next((name for name in finders if entry.startswith(name)), None)
            if prefix is None:
                return f"a feature begins with {' or '.join(finders)}"
            return finders[prefix](entry.removeprefix(prefix))

        found["vocabulary"] = _describe(settings.vocabulary, find_cause)
    given = tuple(keywords)
    if given:
        read = Analyzer(replace(settings, fields=()))
        found["keywords"] = _describe(given, lambda word: "" if read(word) else NO_FEATURE)
    return {name: sentence for name, sentence in found.items() if sentence}


def _describe(entries: Sequence[str], find_cause: Callable[[str], str]) -> str:
    """Return the sentence about the entries for which there is a cause; "" if there are none."""
    causes = {entry: cause for entry in entries if (cause := find_cause(entry))}
    if not causes:
        return ""
    some = list_some((f"{entry!r} ({cause})" for entry, cause in causes.items()), MAX_NAMED_ENTRIES)
    total = f"{len(entries):,} entries" if len(entries) > 1 else "1 entry"
    return f"{len(causes):,} of {total} can never match: {some}"


def _finder(settings: FeatureSettings) -> Callable[[str], str]:
    """Make a function that returns why a feature of one view can never occur; "" if it can."""
    analyzer = Analyzer(replace(settings, fields=(), vocabulary=None))
    surroundings = SURROUNDINGS if has_own_pattern(settings) else SURROUNDINGS[:1]
    looks_around = LOOKS_AROUND.search(settings.token_pattern or "") is not None

    def find_cause(feature: str) -> str:
        if looks_around or any(feature in analyzer(each.format(feature)) for each in surroundings):
            return ""
        found = analyzer(feature)
        return f"its features are {list_some(found, MAX_NAMED_ENTRIES)}" if found else NO_FEATURE

    return find_cause
