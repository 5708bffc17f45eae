"""Cells of tables in many languages, and the legacy encodings in which such tables come."""

WEST = ("cp1252", "latin-1", "mac_roman")

SENTENCES: dict[tuple[str, ...], dict[str, list[str]]] = {
    WEST: {
        "French": [
            "Le patient a été opéré à l'hôpital Saint-Éloi",
            "Reçu après la date prévue, dossier fermé",
            "Très satisfait de la qualité du café",
            "Élève absent, motif non précisé",
            "Où se trouve la clé du garçon ?",
            "Forêt, île, août, noël: déjà vu",
        ],
        "German": [
            "Größe und Gewicht wurden nicht geprüft",
            "Straße gesperrt, Zufahrt über Müllerstraße",
            "Der Schlüssel für das Gebäude fehlt",
            "Ärztliche Überweisung für die Frühförderung",
            "schön, süß und ein bisschen müde",
        ],
        "Spanish": [
            "El niño nació en España el año pasado",
            "Número de teléfono no válido",
            "¿Cuánto pagó en total? ¡Mañana más!",
            "Habitación con baño y calefacción",
            "Jamón, piñón y azúcar",
        ],
        "Portuguese": [
            "A reunião não foi marcada às três horas",
            "São Paulo, construção e manutenção",
            "Informações sobre o avô e a irmã",
            "Inscrição anterior à eleição",
        ],
        "Italian": ["La città è già più bella", "Perché non si può? Sarà così", "Martedì sarà l'università a decidere"],
        "Dutch": ["Een financiële crisis in België", "Het café is één keer geopend", "De coördinator is geïnformeerd"],
        "Swedish": ["Kön och ålder måste fyllas i", "Två hästar går över gården", "Björk, Sjöberg och Åkesson"],
        "Danish": ["Bopæl: København, født på Færøerne", "Prøven blev ikke udført før påske", "Smørrebrød og rød grød"],
        "Norwegian": ["Tromsø, Ålesund og Bodø", "Har søkt om støtte på nytt", "Går på skole i Østfold"],
        "Finnish": ["Syntymäpäivä on jäänyt täyttämättä", "Hyvää yötä, äiti", "Jyväskylä ja Hämeenlinna"],
        "English": ["A naïve résumé of the café's façade", "Coöperation, déjà vu, crème brûlée"],
    },
    ("cp1252", "latin-1"): {
        "Icelandic": [
            "Það er ekki rétt að Þórður sé á Ísafirði",
            "Guðrún Ægisdóttir, Hafnarfjörður",
            "Maðurinn við brúna",
        ],
    },
    ("cp1250",): {
        "Polish": [
            "Zażółć gęślą jaźń",
            "Pacjent został przyjęty do szpitala w Łodzi",
            "Wartość końcowa nie może być ujemna",
            "Województwo świętokrzyskie, miasto Kielce, część północna",
            "Książka leży na stole",
        ],
        "Czech": [
            "Příliš žluťoučký kůň úpěl ďábelské ódy",
            "Počet obyvatel v Plzni se zvýšil",
            "Dvořák, Němec, Růžička a Šťastný",
            "Pacientka má vysoký tlak a je léčena",
        ],
        "Slovak": ["Vŕba nad riekou, kôň a ľalia v tôni", "Košice, Žilina, Banská Bystrica: príliš ďaleko"],
        "Hungarian": [
            "Árvíztűrő tükörfúrógép",
            "A beteg felvétele előtt kérjük kitölteni",
            "Győr, Gyöngyös, Székesfehérvár, Hódmezővásárhely",
        ],
        "Romanian": ["Oraşul Iaşi şi judeţul Galaţi", "Băiatul şi fata în grădină, după masă", "Societate pe acţiuni"],
        "Croatian": ["Čovjek je šutio cijelo vrijeme", "Grad Županja, općina Đakovo", "Petrović, Kovačević i Žižić"],
        "Slovene": ["Občina Škofja Loka, žena in otroci", "Življenje teče počasi čez vrt"],
    },
    ("cp1251",): {
        "Russian": [
            "Пациент не явился на приём",
            "Москва, Санкт-Петербург, Казань",
            "Съешь же ещё этих мягких французских булок",
            "Количество проживающих в квартире",
            "да",
            "мужской",
        ],
        "Ukrainian": ["Їжак і ґанок у місті Львів", "Кількість дітей у сім'ї", "Київ, Запоріжжя, Вінниця"],
        "Bulgarian": ["Град София, област Пловдив", "Пациентът не е дошъл на преглед", "Щастливи хора"],
        "Serbian": ["Љубав и њен ђак", "Општина Врачар, град Београд"],
    },
    ("koi8_r",): {
        "Russian": [
            "Пациент не явился на приём",
            "Москва, Санкт-Петербург, Казань",
            "Количество проживающих в квартире",
            "Съешь же ещё этих мягких французских булок",
            "мужской",
        ],
    },
    ("cp1253",): {
        "Greek": [
            "Η ποιότητα του νερού είναι καλή",
            "Αθήνα, Θεσσαλονίκη, Πάτρα",
            "Όνομα και επώνυμο του ασθενούς",
            "Καλημέρα, τι κάνετε",
            "γυναίκα",
        ],
    },
    ("cp1254",): {
        "Turkish": [
            "Öğrenci başarılı değil",
            "İstanbul, Beşiktaş, Kadıköy",
            "Hastanın yaşı ve doğum yeri bilinmiyor",
            "Işıklı şehir, güneşli gün",
        ],
    },
    ("shift_jis", "euc_jp"): {
        "Japanese": [
            "東京都新宿区西新宿",
            "患者は病院に来なかった",
            "テストデータを入力してください",
            "男性",
            "平均年齢と標準偏差",
            "お問い合わせ番号",
            "大阪市中央区",
        ],
    },
    ("gb18030",): {
        "Chinese": [
            "北京市海淀区中关村大街",
            "患者没有按时到医院",
            "请输入正确的电话号码",
            "男",
            "平均年龄和收入",
            "上海浦东新区",
            "已婚",
        ],
    },
    ("big5",): {
        "Chinese, traditional": [
            "臺北市中正區重慶南路",
            "患者沒有按時到醫院",
            "請輸入正確的電話號碼",
            "平均年齡與收入",
            "高雄市左營區",
            "已婚",
        ],
    },
    ("euc_kr",): {
        "Korean": [
            "서울특별시 강남구 역삼동",
            "환자가 병원에 오지 않았다",
            "전화번호를 입력하십시오",
            "남자",
            "평균 나이와 소득",
            "부산광역시 해운대구",
        ],
    },
}

NAMES: dict[tuple[str, ...], list[list[str]]] = {
    WEST: [
        ["René", "Chloé", "José"],
        ["Müller", "Schröder", "Weiß"],
        ["Zoë", "Noël", "Anaïs"],
        ["Søren", "Jørgen", "Åse"],
        ["Björn", "Åsa", "Göran"],
        ["Núñez", "García", "Peña"],
        ["João", "Conceição", "Simões"],
        ["Nicolò", "D'Alì", "Cefalù"],
        ["François", "Hélène", "Benoît"],
        ["Zoé"],
        ["Jürgen"],
        ["Peña"],
        ["SÁNCHEZ", "MUÑOZ", "LÓPEZ"],
        ["MÜLLER", "KÖNIG", "JÄGER"],
        ["Ægir", "Øystein", "Élodie"],
        ["Zoé", "Jürgen", "Søren", "Ana", "Bob"],
    ],
    ("cp1250",): [
        ["Paweł", "Michał", "Łukasz"],
        ["Dvořák", "Černý", "Růžička"],
        ["Ţepeş", "Ioniţă", "Brâncuşi"],
        ["Kovačić", "Đurić", "Čolak"],
        ["Szőke", "Erdős", "Fűzfa"],
        ["WIŚNIEWSKA", "WÓJCIK", "DĄBROWSKI"],
    ],
    ("cp1251", "koi8_r"): [["Иван", "Пётр", "Мария"], ["Петров", "Сидорова"], ["ИВАНОВ", "КУЗНЕЦОВА"], ["Анна"]],
    ("cp1253",): [["Γιώργος", "Ελένη", "Παπαδόπουλος"], ["Κώστας", "Μαρία"]],
    ("cp1254",): [["Ayşe", "Yıldız", "Çağlar"], ["Şahin", "Gül", "İbrahim"]],
    ("shift_jis", "euc_jp"): [
        ["佐藤", "鈴木"],
        ["太郎", "花子"],
        ["山田", "田中", "渡辺"],
        ["サトウ", "ヤマダ"],
    ],
    ("gb18030",): [["王伟", "李娜", "张敏"], ["刘强", "陈静", "赵磊"], ["欧阳", "司马"]],
    ("big5",): [["陳怡君", "林志明", "黃淑芬"], ["王小明", "張雅婷"]],
    ("euc_kr",): [["김민준", "이서연", "박지훈"], ["최영희", "정철수"]],
}

# One sign or two in a table that is ASCII otherwise: what the guess was wrong about.
SIGNS = [
    *(
        "£5",
        "£ 1,200.50",
        "price in £",
        "£m",
        "50 € per month",
        "€ 20",
        "20€",
        "€1.5bn",
        "20 \xb0C",
        "-5\xb0",
        "\xb15 %",
    ),
    *("12.5 ± 0.3", "±0.1", "½ cup", "1½", "2¼ in", "¾", "m²", "25 m²", "m³", "g/m²", "km²", "5 cm³", "kg·m", "µg/l"),
    *(
        "10 µm",
        "5µg",
        "© 2020 Acme",
        "Acme®",
        "Acme ®",
        "Acme™",
        "(c) Acme™ Ltd",
        "Copyright © Smith",
        "5 × 3",
        "10×20",
    ),
    *("it’s", "the patient’s", "“quoted”", "‘so’", "A – B", "1990–1995", "wait…", "§ 5", "§5 (2)", "• first", "N° 5"),
    *("1º", "2ª", "«oui»", "100\xa0000", "50 ¢", "¥ 500", "¿Por qué?", "¡Hola!", "†", "10 ‰", "R² = 0.5", "x²", "H²O"),
    *("£5|€6", "£5 ± £1", "© ® ™", "½ m²", "5 °C ± 1"),
]
ENCODED_SIGNS = ("cp1252", "latin-1")
