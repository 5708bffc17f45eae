"""Guess the legacy encoding of a text: the one in which it is most plausible.

Every candidate encoding decodes the lines that hold bytes above 127, and each reading is given a cost in bits: how
surprising its characters are, one by one, for somebody who knows the languages that are written in that encoding.
A word costs what it costs in the language that explains it best; a letter of another script beside ASCII letters, a
capital in the middle of a word, a currency sign inside one, and characters that hardly anybody writes cost more. The
cheapest reading wins. So ``m²`` is not half of a Japanese word, and ``5 €`` is no capital letter alone.

It remains a guess: a release requires that somebody states the encoding (:mod:`workbench.data.csv.ambiguities`).
"""

from __future__ import annotations

import codecs
import itertools
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

WESTERN = {
    "French": "éèàêçôîûùâëïœæü",
    "German": "üäößé",
    "Spanish": "óíáéñúü",
    "Portuguese": "ãçáéóíêõúâôà",
    "Italian": "èàìòùé",
    "Dutch": "ëéïèöü",
    "Swedish": "äöåéü",
    "Danish": "øåæéö",
    "Icelandic": "áðíéúöóþýæ",
    "Catalan": "àéèóçíòïúü",
    "Estonian": "äõüöšž",
}
CENTRAL = {
    "Polish": "łąęóżśćńź",
    "Czech": "íáéěřýčšžůúóťďň",
    "Slovak": "áíéčžšýúľťôňďóäĺŕ",
    "Hungarian": "éáöóőüíúű",
    "Romanian": "ăîşâţ",
    "Croatian": "čšžćđ",
    "German": "üäöß",
    "Albanian": "ëç",
}
TURKISH = {"Turkish": "ıüşçöğâîû"}
CYRILLIC = {
    "Russian": "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё",
    "Ukrainian": "оаинвітеркслудмпязьбгчйхжїцюєфшщґ",
    "Bulgarian": "аиоентрсвлкдпмзгяъубчщжцйхшюфь",
    "Serbian": "аиоенрстувкдљмјлпзгбјшчцњжћђхџф",
}
GREEK = {"Greek": "αοιετσνηυρπκμλςωίόάγδέήχθφύβξζώψϊϋΐΰ"}

KOREAN = (
    "이다의에는가을고하지로한은사기도리를인대어자그나시서부만해일과수있보정라장동전상게구으여소성제"
    "들관면모비스원위주조아안우경공국적되었오용학세것간여중실신무미진유행연문말할회계체발방생분명물음마"
    "선치거영교당화계단김박최정강조윤임한오서신권황송류홍전고문손양배백허남심노하곽차강서울부산대구천광주"
    "남녀여자성별이름나이직업월급만원동시군도읍면리호준민영희철수순옥숙경미현우진성재훈석"
)
SIMPLIFIED = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里"
    "用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实"
    "日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政"
    "美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员"
    "解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件"
    "计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象"
    "完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运京州省县"
    "男姓李王张刘陈杨赵黄周吴徐孙胡朱林何郭罗梁宋郑谢韩唐冯董萧曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘"
    "杜戴夏钟汪田任姜范石姚谭廖邹熊陆郝孔崔康毛邱秦江史顾侯邵孟龙段钱汤黎武伟芳娜敏静丽强磊军洋勇艳杰娟涛"
    "岁收元职教师医护厂店上海广深圳津重庆城乡镇街村编号地址电话备注年龄性别姓名"
)
TRADITIONAL = (
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡"
    "用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實"
    "日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政"
    "美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次度門任常先海通教兒原東聲提立及比員"
    "解水名真論處走義各入幾口認條平系氣題活爾更別打女變四神總何電數安少報才結反受目太量再感建務做接必場件"
    "計管期市直德資命山金指克許統區保至隊形社便空決治展馬科司五基眼書非則聽白卻界達光放強即像難且權思王象"
    "完設式色路記南品住告類求據程北邊死張該交規萬取拉格望覺術領共確傳師觀清今切院讓識候帶導爭運臺灣北高雄"
    "男姓李王張劉陳楊趙黃周吳徐孫胡朱林何郭羅梁宋鄭謝韓唐馮董蕭曹袁鄧許傅沈曾彭呂蘇盧蔣蔡賈丁魏薛葉閻余潘"
    "杜戴夏鍾汪田任姜范石姚譚廖鄒熊陸郝孔崔康毛邱秦江史顧侯邵孟龍段錢湯黎武志明淑芬美玲雅婷俊傑怡君家豪"
    "歲收元職教師醫護縣鄉鎮街路段巷號編號地址電話備註年齡性別姓名桃園新竹台中嘉義屏宜蘭花蓮"
)
JAPANESE = (
    "日一国会人年大十二本中長出三同時政事自行社見月分議後前民生連五発間対上部東者党地合市業内相方四定今回"
    "新場金員九入選立開手米力学問高代明実円関決子動京全目表戦経通外最言氏現理調体化田当八六約主題下首意法"
    "不来作性的要用制治度務強気小七成期公持野協取都和統以機平総加山思家話世受区領多県続進正安設保改数記院"
    "女初北午指権心界支第産結百派点教報済書府活原先共得解名交資予川向際査勝面委告軍文反元重近千考判認画海"
    "参売利組知案道信策集在件団別物側任引使求所次水半品昨論計死官増係感特情投示変打男基私各始島直両朝革価"
    "式確村提運終挙果西勢減台広容必応演電歳住争談能無再位置企真流格有疑口過局少放税検藤町常校料沢裁状工建"
    "語球営空職証土与急止送援供可役構木割聞身費付施切由説転食比難防補車優夫研収断井何南石足違消境神番規術"
    "護展態導鮮備宅害配副算視条幹独警宮究育席輸訪楽起万着乗店述残想線率病農州武声質念待試族象銀域助労例衛"
    "然早張映限親額監環験追審商葉義伝働形景落欧担好退準賞訴辺造英被株頭技低毎医復仕去姿味負閣韓渡失移差衆"
    "個門写評課末守若脳極種美岡影命含福蔵量望松非撃佐核観察整段横融型白深字答夜製票況音申様財港識注呼渉達"
    "佐藤鈴木高橋田中伊渡辺山本村小林加吉田斎松井清水森池橋阿部石川前岡長谷後近坂遠青西福太三岡藤花郎美"
    "年齢性別氏名住所電話番号備考男女東京都大阪府京都北海道神奈川県埼玉千葉愛知兵庫福岡広島仙台札幌横浜名古屋"
)


_NEVER = 40.0
_FOREIGN = 10.0  # bits of a Latin letter in a word that no language explains


@dataclass(frozen=True)
class Candidate:
    """An encoding that a file may be written in."""

    name: str  # Python's name of it
    prior: float  # cost in bits before a byte is read: how rare it is in files of today
    languages: Mapping[str, str]  # for each language that uses it its letters, the commonest first
    common: str = ""  # the commonest characters, of an East Asian encoding
    levels: tuple[int, int] = (0, 0)  # the leading bytes of its usual characters, of an East Asian encoding

    @property
    def latin(self) -> bool:
        """Whether its letters are those of Latin scripts."""
        return bool(self.languages) and all("a" <= letters[0] < "\u0250" for letters in self.languages.values())


CANDIDATES = (
    Candidate("cp1252", 0, WESTERN),
    Candidate("cp1250", 3, CENTRAL),
    Candidate("cp1251", 3, CYRILLIC),
    Candidate("cp1253", 4, GREEK),
    Candidate("cp1254", 5, TURKISH),
    Candidate("koi8_r", 4, {"Russian": CYRILLIC["Russian"]}),
    Candidate("mac_roman", 9, WESTERN),
    Candidate("cp932", 4, {}, JAPANESE, (0x88, 0x97)),
    Candidate("euc_jp", 5, {}, JAPANESE, (0xB0, 0xCF)),
    Candidate("gb18030", 4, {}, SIMPLIFIED, (0xB0, 0xD7)),
    Candidate("big5", 5, {}, TRADITIONAL, (0xA4, 0xC6)),
    Candidate("euc_kr", 4, {}, KOREAN, (0xB0, 0xC8)),
)

SEVERAL_BYTES = frozenset(candidate.name for candidate in CANDIDATES if candidate.common) | {"shift_jis"}
"""The encodings in which a character can be more than one byte."""

# Some signs are letters to the pattern, and to nobody else.
_WORD = re.compile(r"[^\W\d_µªº¹²³¼½¾]+")
# No East Asian character ends in one of these bytes.
_BETWEEN_CELLS = re.compile(rb'[,;\t"]')
_SIGN = re.compile(r"[^\x00-\x7f]")
# A grave e comes before consonants, and a tilde over o before e (but for Estonian, whose words begin so).
_UNWESTERN = re.compile(r"è[aeiouéí]|(?<=[a-z]{2})õ(?!e)")
_LONE = frozenset("àóåöéèìíúáùavисукояіοηατ")
_SIGNS = {
    **dict.fromkeys("°±’“”–", 5.0),
    **dict.fromkeys("€£²³½µ©®™—‘…«»\xa0¿¡º„", 6.0),
    **dict.fromkeys("¼¾§×•·¥ª№", 8.0),
    **dict.fromkeys("¢†‰÷¹¶≤≥≠∞≈", 10.0),
}
_EAST_ASIAN_SIGNS = frozenset("、。「」『』・（）：；，！？《》“”～％／＝＋－．〒々￥㎡℃")
_HALF_WIDTH = frozenset(map(chr, range(0xFF61, 0xFFA0)))
_OF_NUMBERS, _AFTER_WORDS, _OPENING = frozenset("£€¥¢½¼¾±°²³µ"), frozenset("²³®™’”»º…"), frozenset("‘“«„¿¡")


def likely(lines: Iterable[bytes]) -> list[str]:
    """Return the encodings in which ``lines`` can be read, the likeliest first.

    Args:
        lines: distinct lines that hold bytes above 127; the end of a line may be cut within a character.
    """
    # A repeated cell adds no information.
    cells = dict.fromkeys(cell for line in lines for cell in _BETWEEN_CELLS.split(line) if not cell.isascii())
    costs = [(cost, c.name) for c in CANDIDATES if (cost := _cost(list(cells), c)) is not None]
    return [name for _, name in sorted(costs)]


def _cost(cells: Sequence[bytes], candidate: Candidate) -> float | None:
    """Return how many bits the reading of ``cells`` costs; ``None`` where there is none."""
    decoder = codecs.getincrementaldecoder(candidate.name)
    try:
        read = "\n".join(decoder().decode(cell) for cell in cells)
    except UnicodeDecodeError:
        return None
    words = [word for word in _WORD.findall(read) if not word.isascii()]
    signs = [
        (read[max(at - 4, 0) : at], read[at], read[at + 1 : at + 2])
        for at in (found.start() for found in _SIGN.finditer(read))
        if not _WORD.match(read[at])
    ]
    word_cost = _east_asian if candidate.common else _alphabetic
    return candidate.prior + sum(word_cost(w, candidate) for w in words) + sum(_sign(*s, candidate) for s in signs)


# -- words of alphabets -------------------------------------------------------------------------------------------


def _alphabetic(word: str, candidate: Candidate) -> float:
    """Return the cost of a word in the language that explains it best."""
    letters = [c for c in word.lower() if not c.isascii()]
    best = min(sum(_letters(language).get(c, _NEVER) for c in letters) for language in candidate.languages.values())
    if candidate.latin:
        best = min(best, _FOREIGN * len(letters)) + _misplaced(word.lower(), candidate)
    elif len(letters) < len(word):
        best += 8.0 * min(len(letters), len(word) - len(letters))  # two scripts in one word
    return best + _case(word) + (_alone(word) if len(word) == 1 else 0.0)


def _misplaced(word: str, candidate: Candidate) -> float:
    """Return the cost of a word that cannot be pronounced, and of letters where no Western language has them."""
    spoken = len(word) == 1 or any(c in "aeiouyıøæœ" for c in unicodedata.normalize("NFD", word))
    western = candidate.languages is WESTERN
    return (0.0 if spoken else 7.0) + (5.0 * len(_UNWESTERN.findall(word)) if western else 0.0)


@cache
def _letters(language: str) -> dict[str, float]:
    """Return the cost of each letter of a language, given as the letters in the order of their frequency."""
    step = min(0.5, 6.0 / len(language))
    return {letter: 3.0 + step * rank for rank, letter in enumerate(language)}


def _case(word: str) -> float:
    """Return the cost of misplaced capitals."""
    if word.islower():
        return 0.0
    if word.isupper():
        return 4.0
    wrong = 0.0
    for before, c in itertools.pairwise(word):
        if not (before.isascii() and c.isascii()):
            wrong += 7.0 * (before.islower() and c.isupper())
    capitals = sum(c.isupper() for c in word)
    return 1.0 + wrong + (4.0 if capitals > 2 and not wrong else 0.0)


def _alone(letter: str) -> float:
    if letter.lower() not in _LONE:
        return 5.0
    return 0.0 if letter.islower() else 2.0


# -- East Asian words ---------------------------------------------------------------------------------------------


def _east_asian(word: str, candidate: Candidate) -> float:
    cost = 8.0 if len(word) == 1 and word in _HALF_WIDTH else 0.0
    for before, c in zip(" " + word, word, strict=False):
        if c.isascii():
            cost += 5.0 if not before.isascii() else 0.0
            continue
        cost += _character(c, candidate.name)
        if before.isascii() and before != " ":
            cost += 5.0
    return cost


@cache
def _character(c: str, encoding: str) -> float:
    candidate = next(one for one in CANDIDATES if one.name == encoding)
    if c in _EAST_ASIAN_SIGNS:
        return 6.0
    if "\u3041" <= c <= "\u30ff":
        return 6.0 if candidate.common is JAPANESE else 13.0
    if c in _HALF_WIDTH:
        return 9.0  # one byte
    if c in candidate.common:
        return 8.0
    raw = c.encode(encoding)
    low, high = candidate.levels
    if len(raw) == 2 and low <= raw[0] <= high:
        return 11.5
    return 16.0 if len(raw) == 2 and raw[1] > 0xA0 else 19.0


# -- signs --------------------------------------------------------------------------------------------------------


def _sign(before: str, sign: str, after: str, candidate: Candidate) -> float:
    """Return the cost of a sign between what is before and after it."""
    if candidate.common:
        return _character(sign, candidate.name) if sign in _EAST_ASIAN_SIGNS else 15.0
    cost = _SIGNS.get(sign, 14.0)
    last = before[-1:]
    if last.isalpha() and sign in _OF_NUMBERS - _AFTER_WORDS:
        cost += 4.0
    if after.isalpha() and sign in (_OF_NUMBERS | _AFTER_WORDS) - frozenset("µ°’"):
        cost += 6.0
    if last.isalpha() and after.isalpha() and sign in "–—•":
        cost += 5.0
    if last.isalpha() and sign in _OPENING:
        cost += 5.0
    if sign in "²³" and len(before) == 4 and before.isalpha():
        cost += 6.0
    return cost
