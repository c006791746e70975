"""Names of encodings: the labels of the WHATWG encoding standard, Python's names, and usual
spellings of both.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache

MAX_NAME = 60  # characters
# codecs of escapes, some of which take quadratic time
ESCAPE_CODECS = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}
# The Python codec that decodes most of an encoding, and all labels of it by
# https://encoding.spec.whatwg.org, without the encodings that the standard replaces for the safety
# of browsers. Labels are in lower case, without punctuation. cp1252 stands for Latin-1 and ASCII,
# gb18030 for GB 2312, cp949 for EUC-KR: mailers name the smaller set.
ENCODING_LABELS = """\
utf-8 unicode11utf8 unicode20utf8 utf8 xunicode20utf8
cp866 866 cp866 csibm866 ibm866
iso8859-2 csisolatin2 iso88592 iso885921987 isoir101 l2 latin2
iso8859-3 csisolatin3 iso88593 iso885931988 isoir109 l3 latin3
iso8859-4 csisolatin4 iso88594 iso885941988 isoir110 l4 latin4
iso8859-5 csisolatincyrillic cyrillic iso88595 iso885951988 isoir144
iso8859-6 arabic asmo708 csiso88596e csiso88596i csisolatinarabic ecma114 iso88596 iso885961987
    iso88596e iso88596i isoir127
iso8859-7 csisolatingreek ecma118 elot928 greek greek8 iso88597 iso885971987 isoir126 suneugreek
iso8859-8 csiso88598e csiso88598i csisolatinhebrew hebrew iso88598 iso885981988 iso88598e iso88598i
    isoir138 logical visual
iso8859-10 csisolatin6 iso885910 isoir157 l6 latin6
iso8859-13 iso885913
iso8859-14 iso885914
iso8859-15 csisolatin9 iso885915 l9
iso8859-16 iso885916
koi8-r cskoi8r koi koi8 koi8r
koi8-u koi8ru koi8u
mac-roman csmacintosh mac macintosh xmacroman
cp874 dos874 iso885911 tis620 windows874
cp1250 cp1250 windows1250 xcp1250
cp1251 cp1251 windows1251 xcp1251
cp1252 ansix341968 ascii cp1252 cp819 csisolatin1 ibm819 iso88591 iso885911987 isoir100 l1 latin1
    usascii windows1252 xcp1252
cp1253 cp1253 windows1253 xcp1253
cp1254 cp1254 csisolatin5 iso88599 iso885991989 isoir148 l5 latin5 windows1254 xcp1254
cp1255 cp1255 windows1255 xcp1255
cp1256 cp1256 windows1256 xcp1256
cp1257 cp1257 windows1257 xcp1257
cp1258 cp1258 windows1258 xcp1258
mac-cyrillic xmaccyrillic xmacukrainian
gb18030 chinese csgb2312 csiso58gb231280 gb18030 gb2312 gb231280 gbk isoir58 xgbk
big5hkscs big5 big5hkscs cnbig5 csbig5 xxbig5
euc_jis_2004 cseucpkdfmtjapanese eucjp xeucjp
iso2022_jp_ext csiso2022jp iso2022jp
cp932 csshiftjis ms932 mskanji shiftjis sjis windows31j xsjis
cp949 cseuckr csksc56011987 euckr isoir149 korean ksc5601 ksc56011987 ksc56011989 windows949
utf-16-be unicodefffe utf16be
utf-16-le csunicode iso10646ucs2 ucs2 unicode unicodefeff utf16 utf16le
"""
_codecs = {
    label: codec
    for codec, *labels in map(str.split, re.split(r"\n(?=\S)", ENCODING_LABELS.strip()))
    for label in labels
}
_punctuation = re.compile(r"[^0-9a-z]+")
_code_page = re.compile(
    r"(?:x|cs)*(?:ccsid|codepage|cp|dos|ibm|ms|mswin|oem|win|windows)0*([0-9]{3,5})"
)
_prefix = re.compile(r"^(?:x|cs)[^0-9a-z]*")


@lru_cache(maxsize=1024)
def find_codec(name: str, *, is_web: bool) -> str | None:
    """Return Python's name of an encoding; None if it is unknown or not a text encoding.

    Parameters
    ----------
    name : str
        As a mail, a page or a user writes it: in any case, with any punctuation, with or without a
        prefix such as `x-`, and with `cp`, `ms`, `windows` or the like before the number of a code
        page.
    is_web : bool
        Whether a name means what the WHATWG encoding standard says, otherwise what Python says.
    """
    name = name.strip(" \t\r\n\"'").partition("*")[0].lower()  # RFC 2231: a language may follow
    if len(name) > MAX_NAME or not name.isprintable():
        return None
    spellings = [name]
    if page := _code_page.fullmatch(_punctuation.sub("", name)):
        spellings.append(f"cp{page[1]}")
    if _prefix.match(name):
        spellings.append(_prefix.sub("", name))
    for spelling in spellings:
        standard = _codecs.get(_punctuation.sub("", spelling))
        own = text_codec(spelling)
        if found := (standard or own) if is_web else (own or standard):
            return found
    return None


def text_codec(name: str) -> str | None:
    """Return Python's name of an encoding that Python knows by this name; None if it is not a text
    encoding.
    """
    try:
        codec = codecs.lookup(name).name
        if codec in ESCAPE_CODECS or len("\n".encode(codec).decode(codec)) != 1:
            return None
    except (LookupError, ValueError):
        return None
    return codec
