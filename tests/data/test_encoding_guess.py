"""The encoding of a legacy text file is guessed right, over a corpus of tables in many languages."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from tests.data.encoding_corpus import ENCODED_SIGNS, NAMES, SENTENCES, SIGNS
from workbench.data.csv.encoding import EncodingGuess, guess_encoding
from workbench.signals.cancel import CancelToken

Case = tuple[str, str, Sequence[str]]


def table(cells: Sequence[str]) -> str:
    return "id,age,text\n" + "".join(f"{i},{20 + i * 7 % 60},{c}\n" for i, c in enumerate(cells, 1))


def guess(raw: bytes) -> EncodingGuess:
    return guess_encoding(np.frombuffer(raw, np.uint8), "file.csv", CancelToken())


def reads(raw: bytes, encoding: str) -> str:
    return raw.decode(encoding, "replace")


def cases() -> Iterator[Case]:
    """Yield what kind of table it is, its encoding and its cells."""
    for encodings, languages in SENTENCES.items():
        for encoding in encodings:
            for sentences in languages.values():
                yield "all sentences of a language", encoding, sentences
                yield "one sentence among ASCII", encoding, [*["plain text", "other"] * 30, sentences[0]]
                for sentence in sentences:
                    yield "one sentence", encoding, [sentence]
    for encodings, lists in NAMES.items():
        for encoding in encodings:
            for names in lists:
                yield "names", encoding, names
    for encoding in ENCODED_SIGNS:
        for sign in SIGNS:
            yield "one sign", encoding, [sign]
            yield "one sign among ASCII", encoding, [sign, *["plain text", "and more of it"] * 20]


def is_legacy(cells: Sequence[str], encoding: str) -> bool:
    """Whether the table can be written so, and is no UTF-8 then."""
    try:
        table(cells).encode(encoding).decode("utf-8")
    except UnicodeEncodeError:
        return False
    except UnicodeDecodeError:
        return True
    return False


CASES = [case for case in cases() if is_legacy(case[2], case[1])]
# How many may be wrong, of each kind: one word or name alone can be right in two encodings.
WRONG = {
    "all sentences of a language": 0,
    "one sentence among ASCII": 0,
    "one sentence": 6,
    "names": 3,
    "one sign": 0,
    "one sign among ASCII": 0,
}


@pytest.fixture(scope="module")
def wrong():
    out: dict[str, list[tuple[str, str, str]]] = {kind: [] for kind in WRONG}
    for kind, encoding, cells in CASES:
        raw = table(cells).encode(encoding)
        found = guess(raw)
        assert not found.certain
        if reads(raw, found.name) != table(cells):
            out[kind].append((encoding, found.name, cells[-1]))
    return out


def test_the_corpus_is_large_enough():
    kinds = Counter(kind for kind, _, _ in CASES)
    encodings = Counter(encoding for _, encoding, _ in CASES)
    assert sum(kinds.values()) > 550
    assert kinds.keys() == WRONG.keys()
    assert min(encodings.values()) >= 8
    assert len(encodings) == 13


@pytest.mark.parametrize("kind", WRONG)
def test_few_guesses_are_wrong(kind, wrong):
    assert len(wrong[kind]) <= WRONG[kind], wrong[kind]


def test_no_western_text_is_taken_for_another_script(wrong):
    assert not [case for kind in wrong for case in wrong[kind] if case[0] in ENCODED_SIGNS]


def test_the_right_encoding_is_among_the_candidates():
    missed = []
    for _, encoding, cells in CASES:
        raw = table(cells).encode(encoding)
        if not any(reads(raw, name) == table(cells) for name in guess(raw).likely):
            missed.append((encoding, cells[-1]))
    assert len(missed) <= 2, missed


@pytest.mark.parametrize("sign", ["£", "±", "½", "m²", "€", "®", "©"])
def test_a_sign_that_was_guessed_wrong_is_read_right(sign):
    raw = table([f"5 {sign}", "plain", f"12.5{sign}"]).encode("cp1252")
    assert reads(raw, guess(raw).name) == raw.decode("cp1252")


def locale_names(code: str) -> list[str]:
    """Return words that nobody chose for this test: months, days and countries, as Qt knows them."""
    from PySide6.QtCore import QLocale

    locale = QLocale(code)
    found = {locale.nativeLanguageName(), locale.nativeTerritoryName()}
    found |= {locale.monthName(month) for month in range(1, 13)} | {locale.dayName(day) for day in range(1, 8)}
    return sorted(word for word in found if word and not word.isascii())


@pytest.mark.parametrize(
    ("encoding", "codes"),
    [
        ("cp1252", "fr de es pt it nl sv da nb fi is ca et eu fo ga"),
        ("cp1250", "pl cs sk hu ro hr sl sq"),
        ("cp1251", "ru uk bg sr_RS be mk"),
        ("koi8_r", "ru"),
        ("cp1253", "el"),
        ("mac_roman", "fr de es pt it sv"),
        ("shift_jis", "ja"),
        ("euc_jp", "ja"),
        ("gb18030", "zh_CN"),
        ("big5", "zh_TW"),
        ("euc_kr", "ko"),
    ],
)
def test_words_of_other_sources_are_read_right(encoding, codes):
    wrong = []
    for code in codes.split():
        words = [word for word in locale_names(code) if is_legacy([word], encoding)]
        if len(words) < 3:
            continue
        raw = table(words).encode(encoding)
        if reads(raw, guess(raw).name) != table(words):
            wrong.append((code, guess(raw).name, words))
    assert not wrong


def test_a_letter_far_into_the_file_decides(monkeypatch):
    monkeypatch.setattr("workbench.data.csv.encoding.CHUNK", 512)
    for encoding, text in (("cp1252", "25 m², 5 °C"), ("gb18030", "患者没有按时到医院" * 100)):
        raw = (table(["plain"] * 300) + f'1,2,"{text}"\n' + "1,2,plain\n" * 50 + f'1,2,"{text}"\n').encode(encoding)
        found = guess(raw)
        assert found.name == encoding
        assert 1 <= len(found.lines) <= 2


def test_a_file_that_no_encoding_explains_is_read_as_latin_1():
    raw = b"a,b\n\x81\x8d\xff\x90,1\n"
    assert guess(raw).likely[-1] == "latin-1"
    assert reads(raw, guess(raw).name)
