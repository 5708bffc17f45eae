"""A data dictionary is read whole or not at all, says where it is wrong, and comes back as it was written."""

import pytest

from workbench.params import InputError
from workbench.sanitize.data_dictionary import changes, not_in_table, read_dictionary, with_guesses, write_dictionary
from workbench.sanitize.plan import Column

HEAD = "name,role,kind,lower,upper,values"


def test_every_fact_is_read():
    entries = read_dictionary(
        f"{HEAD}\nage,quasi-identifier,integer,0,120,\nday,,date,2010-01-01,2010-12-31,\ncity,,category,,,Graz|Wien\n"
        "id,identifier,,,,\n"
    )
    age, day, city, mark = entries
    assert (age.role, age.kind, age.lower, age.upper) == ("quasi-identifier", "integer", 0, 120)
    assert day.upper is not None
    assert day.lower is not None
    assert day.upper - day.lower == 364
    assert city.domain == ("Graz", "Wien")
    assert (mark.role, mark.kind, mark.row) == ("identifier", None, 5)


@pytest.mark.parametrize(
    "values",
    [
        ("a", "b"),
        ("a;b", "c"),
        ("a|b", "c"),
        (" a", "b "),
        ("C:\\x", "\\"),
        (" ", "  "),
        ("a\\|", "b\\ "),
        ("1,5", '"'),
    ],
)
def test_any_list_of_values_comes_back_as_it_was_written(values):
    text, left_out = write_dictionary([{"name": "a, b", "kind": "category", "domain": list(values)}])
    assert not left_out
    (entry,) = read_dictionary(text)
    assert (entry.name, entry.domain) == ("a, b", values)


def test_columns_may_be_absent_in_another_order_and_parted_by_semicolons():
    (entry,) = read_dictionary("Kind;NAME\ninteger;age\n")
    assert (entry.name, entry.kind, entry.lower) == ("age", "integer", None)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("age,,integer,12o,120,", "row 2 (age), lower: '12o' is not a number; write it as 1234.5"),
        ('age,,integer,,"3,5",', "row 2 (age), upper: '3,5' is not a number"),
        ("day,,date,31/12/2010,,", "row 2 (day), lower: '31/12/2010' is not a date; write it as 1990-12-31"),
        ("day,,date,2010-02-30,,", "row 2 (day), lower: '2010-02-30' is not a date"),
        ("age,,,0,120,", "row 2 (age), kind: it is empty, and lower is given"),
        ("age,,integer,120,0,", "row 2 (age), upper: it is not above the lower bound"),
        ("age,,integer,,,a|b", "row 2 (age), values: a column of kind integer has bounds instead"),
        ("city,,category,0,,", "row 2 (city), lower: a column of kind category has values instead"),
        ("city,,category,,,a;b", "row 2 (city), values: there is one value, 'a;b'; separate values with |"),
        ("city,,category,,,a||b", "row 2 (city), values: a value is empty"),
        ("city,,category,,,a|b|a", "row 2 (city), values: 'a' is listed twice"),
        ("age,target,number,,,", "row 2 (age), kind: 'number' is not one of integer"),
        ("age,sensible,,,,", "row 2 (age), role: 'sensible' is not one of identifier"),
        ("age,sensible,,,,", "did you mean 'sensitive'?"),
        ("age,,", "row 2 has 3 cells, and the header has 6"),
        (",,integer,,,", "row 2, name: it is empty"),
        ("a,,,,,\na,,,,,", "row 3 (a), name: row 2 is about the same column"),
        ("a,target,,,,\nb,target,,,,", "row 3 (b), role: the target is a already"),
    ],
)
def test_a_bad_row_is_named_by_row_and_column(row, told):
    with pytest.raises(InputError) as refused:
        read_dictionary(f"{HEAD}\n{row}\n", "d.csv")
    assert told in str(refused.value)
    assert "d.csv" in str(refused.value)


def test_the_first_three_wrong_rows_are_told_at_once():
    rows = "\n".join(f"c{i},,number,,," for i in range(5))
    with pytest.raises(InputError, match=r"row 2 \(c0\).*row 3 \(c1\).*row 4 \(c2\).*and 2 more"):
        read_dictionary(f"{HEAD}\n{rows}\n")


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("name,lowr,size", "unknown columns: lowr, size; remove them"),
        ("role,kind", "no column “name”"),
        ("name,kind,kind", "two columns “kind”"),
        ("", "no column “name”"),
    ],
)
def test_a_header_that_is_not_understood_is_refused(head, told):
    with pytest.raises(InputError) as refused:
        read_dictionary(f"{head}\na,b,c\n")
    assert told in str(refused.value)


def test_the_dictionary_of_another_program_is_read_as_it_is():
    text = (
        "Variable,Type,Label,Values,Min,Max\n"
        "q1,categorical,Do you smoke?,1=never; 2=often; 9=no answer,,\n"
        "name,text,Full name,,,\n"
        "age,int,Age in years,,18,90\n"
        "income,numeric,,,0,10000\n"
        "region,factor,,N|S|E,,\n"
    )
    found = {entry.name: entry for entry in read_dictionary(text)}
    assert [(entry.kind, entry.facts) for entry in found.values()] == [
        ("category", {"domain": ("1", "2", "9")}),
        ("category", {}),
        ("integer", {"lower": 18.0, "upper": 90.0}),
        ("real", {"lower": 0.0, "upper": 10000.0}),
        ("category", {"domain": ("N", "S", "E")}),
    ]
    assert found["q1"].guessed == ()


def test_values_with_an_equals_sign_stay_whole_where_bars_separate_them():
    (entry,) = read_dictionary("name,kind,values\nsize,category,a=1|b=2\n")
    assert entry.domain == ("a=1", "b=2")


def test_columns_that_the_table_lacks_are_listed_in_one_sentence():
    entries = read_dictionary(f"{HEAD}\nage,,,,,\nheight,,,,,\nweight,,,,,\n")
    assert not_in_table(entries, ["age"]) == "the table lacks 2 columns of the data dictionary: height, weight"
    assert not_in_table(entries, ["weight", "age", "height"]) == ""


def test_what_was_read_off_the_rows_is_left_out_and_said():
    text, left_out = write_dictionary(
        [
            {"name": "age", "kind": "integer", "lower": 3, "upper": 97, "bounds_origin": "data"},
            {"name": "city", "kind": "category", "domain": ["Graz", "Wien"], "bounds_origin": "data"},
            {"name": "sex", "kind": "category", "domain": ["f", "m"]},
        ]
    )
    assert text.splitlines() == [
        f"{HEAD},missing,missing_codes,date_order",
        "age,,integer,,,,refuse,,",
        "city,,category,,,,refuse,,",
        "sex,,category,,,f|m,refuse,,",
    ]
    assert left_out == ("bounds of age", "values of city")


def test_a_guess_is_marked_and_stays_a_guess():
    text, _ = write_dictionary(
        [
            {"name": "age", "kind": "integer", "lower": "?", "upper": 120, "origin": "guess"},
            {"name": "id", "action": "drop", "role": "identifier", "origin": "guess"},
        ]
    )
    assert text.splitlines()[1:] == ["age,,integer?,,120,,refuse?,,", "id,identifier?,,,,,,,"]
    age, mark = read_dictionary(text)
    assert with_guesses(age, ("kind", "missing")) == ("kind", "missing")
    assert with_guesses(mark, ("action", "missing")) == ("action", "missing")
    (declared,) = read_dictionary(f"{HEAD}\nage,,integer,0,120,\n")
    assert with_guesses(declared, ("kind", "missing")) == ("missing",)


def test_a_declared_bound_never_stands_beside_one_that_was_read_off_the_rows():
    (entry,) = read_dictionary(f"{HEAD}\nage,,integer,0,,\n")
    taken = Column(name="age", kind="integer", lower=3, upper=97, bounds_origin="data")
    made = changes(entry, taken)
    assert (made["lower"], made["upper"], made["bounds_origin"]) == (0, None, "declared")


def test_a_bound_that_contradicts_the_plan_names_its_row():
    (entry,) = read_dictionary(f"{HEAD}\nage,,integer,130,,\n")
    with pytest.raises(InputError, match=r"row 2 \(age\): the lower bound 130 is not below the upper bound 120"):
        changes(entry, Column(name="age", kind="integer", lower=0, upper=120))


def test_another_kind_takes_the_facts_of_the_former_one_with_it():
    (entry,) = read_dictionary(f"{HEAD}\nzip,,category,,,1010|8010\n")
    made = changes(entry, Column(name="zip", kind="integer", lower=1000, upper=9999, mechanism="grr"))
    assert (made["lower"], made["upper"], made["mechanism"]) == (None, None, "auto")
    assert made["domain"] == ("1010", "8010")


def test_codes_of_missing_values_go_out_and_come_back():
    text, _ = write_dictionary([{"name": "age", "kind": "integer", "missing_codes": ["-9", "a|b"]}])
    (age,) = read_dictionary(text)
    assert age.missing_codes == ("-9", "a|b")
    for said, codes in (({"missing_codes": []}, ()), ({}, None)):  # "it is a value", and nothing said
        text, _ = write_dictionary([{"name": "age", "kind": "integer", **said}])
        (age,) = read_dictionary(text)
        assert age.missing_codes == codes
        assert changes(age, Column(name="age", action="drop", kind="integer")).get("missing_codes") == age.missing_codes
    (labelled,) = read_dictionary("name,missing_codes\nage,-9=refused\n")
    assert changes(labelled, Column(name="age", action="drop")) == {"missing_codes": ("-9",)}
    with pytest.raises(InputError, match="'x' is declared missing and is one of the values"):
        read_dictionary(f"{HEAD},missing_codes\ncity,,category,,,x|y,x\n")


def test_the_order_of_dates_goes_out_and_comes_back():
    table = {"name": "visit", "kind": "date", "date_order": "month-first", "lower": "2020-01-01", "upper": "2021-01-01"}
    text, left_out = write_dictionary([table, {**table, "name": "birth", "date_order": "?"}])
    assert not left_out
    visit, birth = read_dictionary(text)
    assert (visit.date_order, birth.date_order) == ("month-first", None)
    guessed, _ = write_dictionary([{**table, "origin": "guess", "guessed": ["date_order"]}])
    assert guessed.splitlines()[1].endswith(",month-first?")
    assert read_dictionary(guessed)[0].guessed == ("date_order",)
    with pytest.raises(InputError, match=r"row 2 .age., date_order"):
        read_dictionary("name,kind,date_order\nage,integer,day-first\n")
