"""Words that documents of a label consist of, and words of all labels, for the tests of `nbtext
review`.
"""

LINES = (
    "fruit: apple banana cherry plum peach sweet ripe juice tree basket pear orchard",
    "tools: hammer nail screw drill saw wrench bolt steel plane bench vise rivet",
    "sea: wave salt boat harbor sail tide anchor shore crab reef gull island",
    ": the and with from this that very some good other many small large new old",
)
WORDS = {label: words.split() for label, words in (line.split(":") for line in LINES)}
COMMON = WORDS.pop("")
