import json
import warnings

import pytest
from joblib import parallel_config

from stablepred.exceptions import StablepredWarning
from studies.records import Records, definition_key, run_missing

DEFINITIONS = [{"study": "s", "seed": seed} for seed in range(4)]


def square(definition):
    return {"value": definition["seed"] ** 2}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "records.jsonl"


def test_the_key_depends_on_every_entry_but_not_on_their_order():
    assert definition_key({"a": 1, "b": [2.5, "x"]}) == definition_key({"b": [2.5, "x"], "a": 1})
    assert definition_key({"a": 1}) != definition_key({"a": 2})
    assert definition_key({"a": 1}) != definition_key({"a": 1, "b": None})


def test_what_was_added_is_there_now_and_after_reading_again(path):
    records = Records(path)
    records.add(DEFINITIONS[1], {"value": [1.5, None]})
    for found in (records, Records(path)):
        assert DEFINITIONS[1] in found
        assert found[DEFINITIONS[1]] == {"value": [1.5, None]}
        assert [d for d in DEFINITIONS if d not in found] == [DEFINITIONS[0], *DEFINITIONS[2:]]
        assert len(found) == 1


def test_of_several_records_of_one_definition_the_last_counts(path):
    records = Records(path)
    for value in (1, 2):
        records.add(DEFINITIONS[0], {"value": value})
    assert Records(path)[DEFINITIONS[0]] == {"value": 2}


def test_a_half_written_line_is_skipped_with_a_warning_and_computed_again(path):
    run_missing(DEFINITIONS, square, Records(path), title="s")
    whole = path.read_text()
    path.write_text(whole[:-30])
    with pytest.warns(StablepredWarning, match="line 4: not a complete record"):
        records = Records(path)
    assert [d for d in DEFINITIONS if d not in records] == [DEFINITIONS[3]]
    run_missing(DEFINITIONS, square, records, title="s")
    with pytest.warns(StablepredWarning, match="line 4"):
        again = Records(path)
    assert [d for d in DEFINITIONS if d not in again] == []
    assert [again[d]["value"] for d in DEFINITIONS] == [0, 1, 4, 9]


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[1, 2]",
        '{"key": "x"}',
        json.dumps({"key": "0" * 16, "definition": {"seed": 1}, "result": {}}),
    ],
)
def test_a_line_that_is_no_record_is_skipped_with_a_warning(path, line):
    Records(path).add(DEFINITIONS[0], {"value": 0})
    path.write_text(line + "\n\n" + path.read_text())
    with pytest.warns(StablepredWarning, match="line 1"):
        assert len(Records(path)) == 1


def test_a_run_goes_on_where_it_was_interrupted(path):
    computed = []

    def interrupted(definition):
        if len(computed) == 2:
            raise KeyboardInterrupt
        computed.append(definition["seed"])
        return square(definition)

    with pytest.raises(KeyboardInterrupt):
        run_missing(DEFINITIONS, interrupted, Records(path), title="s")
    computed.append(None)
    records = Records(path)
    run_missing(DEFINITIONS, interrupted, records, title="s")
    assert computed == [0, 1, None, 2, 3]
    assert [records[d]["value"] for d in DEFINITIONS] == [0, 1, 4, 9]


def test_several_workers_give_the_same_records(path):
    records = Records(path)
    with parallel_config(backend="threading"):
        run_missing(DEFINITIONS, square, records, title="s", jobs=2)
    assert [Records(path)[d]["value"] for d in DEFINITIONS] == [0, 1, 4, 9]


def test_nothing_is_printed_away_from_a_terminal(path, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_missing(DEFINITIONS, square, Records(path), title="s")
    assert capsys.readouterr() == ("", "")
