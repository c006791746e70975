"""Stop words, and word lists from files."""

from __future__ import annotations

from nbtext.documents.settings import read_words
from nbtext.records import Strings

# English function words. scikit-learn's list is not used, because it contains content words (bill,
# cry, fire, system) and lacks parts of contractions (Nothman, Qin & Yurchak, Stop Word Lists in
# Free Open-source Software Packages, 2018). The default token pattern splits contractions at the
# apostrophe, so the parts of two or more letters are included.
_ENGLISH = {
    "articles and determiners": """
        a an the this that these those each every either neither some any no all both half few fewer many more most
        much less least several such other others another same own enough what whatever which whichever""",
    "pronouns": """
        i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
        herself it its itself they them their theirs themselves one oneself who whom whose whoever whomever
        someone somebody something anyone anybody anything everyone everybody everything none nobody nothing""",
    "prepositions": """
        about above across after against along alongside amid among amongst around as at before behind below beneath
        beside besides between beyond by despite down during except for from in inside into like near of off on onto
        out outside over past per since than through throughout to toward towards under underneath unlike until till
        up upon versus via with within without""",
    "conjunctions": """
        and or nor but yet so if unless whether because although though while whilst whereas lest once""",
    "auxiliary verbs": """
        am is are was were be been being have has had having do does did doing done can cannot could may might must
        shall should will would ought""",
    "adverbs of place, time, manner and degree": """
        here there where wherever when whenever why how however now then again ever never always often sometimes
        already still just only even also too very quite rather almost not thus hence therefore otherwise instead
        else away back perhaps maybe indeed moreover furthermore nevertheless meanwhile
        somehow somewhere anyhow anyway anywhere everywhere nowhere thereby therein whereby wherein""",
    "pieces of contractions": """
        ain aren couldn didn doesn don hadn hasn haven isn mightn mustn needn shan shouldn wasn weren won wouldn
        ll re ve""",
    "contractions": """
        ain't aren't can't couldn't didn't doesn't don't hadn't hasn't haven't isn't mightn't mustn't needn't shan't
        shouldn't wasn't weren't won't wouldn't i'm i've i'll i'd you're you've you'll you'd he's he'll he'd she's
        she'll she'd it's it'll we're we've we'll we'd they're they've they'll they'd that's there's
        what's who's""",
}

ENGLISH: Strings = tuple(sorted({word for words in _ENGLISH.values() for word in words.split()}))


def read_stop_words(name: str) -> Strings:
    """Return a stop-word list: `english`, or the words of a file with one word per line.

    White space around a word is removed. Words are compared with tokens after lowercasing and
    accent stripping.

    raises  InputError: see `read_words`
    """
    hint = "give `english`, or a file with one word per line"
    return (
        ENGLISH
        if name == "english"
        else tuple(word for line in read_words(name, hint) if (word := line.strip()))
    )
