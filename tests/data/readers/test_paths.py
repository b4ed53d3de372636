from pathlib import Path

import pytest

from unbraid.data.readers.paths import file_labels, path_labels, read_label_table

ROOT = Path("/somewhere/data")


def _labels(names: list[str], pattern: str = "") -> dict[str, list[str]]:
    return path_labels([ROOT / name for name in names], ROOT, pattern)


def test_the_name_is_the_path_below_the_root():
    assert _labels(["a.wav", "b/c.wav"])["name"] == ["a.wav", "b/c.wav"]


def test_a_pattern_of_folders_gives_a_label_for_each():
    labels = _labels(["ann/01/x.flac", "bob/02/y.flac"], "{speaker}/{chapter}/*")
    assert labels["speaker"] == ["ann", "bob"]
    assert labels["chapter"] == ["01", "02"]
    assert "folder" not in labels


@pytest.mark.parametrize("pattern", ["{person}_{action}_*.mp4", "{person}_{action}_*"])
def test_a_pattern_of_a_file_name_may_leave_its_suffix_out(pattern):
    labels = _labels(["ann_run_1.mp4", "bob_walk_2.mp4"], pattern)
    assert labels["person"] == ["ann", "bob"]
    assert labels["action"] == ["run", "walk"]


def test_a_label_takes_as_little_as_it_can_and_never_a_slash():
    assert _labels(["a_b_c.wav"], "{who}_{what}")["what"] == ["b_c"]
    assert _labels(["a/b/c.wav", "x/c.wav"], "{who}/*")["who"] == ["", "x"]
    assert _labels(["a/b/c.wav", "x/c.wav"], "**/{what}")["what"] == ["c", "c"]
    assert _labels(["a/b/cd.wav", "x/c.wav"], "**{what}.wav")["what"] == ["cd", "c"]


def test_letters_that_mean_something_to_regular_expressions_mean_themselves():
    labels = _labels(["a+b (1).wav", "a+c (2).wav"], "a+{what} (?).wav")
    assert labels["what"] == ["b", "c"]


def test_a_label_named_twice_must_read_the_same():
    labels = _labels(["7/7-1.flac", "8/9-1.flac"], "{speaker}/{speaker}-*")
    assert labels["speaker"] == ["7", ""]


def test_a_pattern_that_matches_nothing_is_shown_with_an_example():
    with pytest.raises(ValueError, match=r"'\{who\}/\*' matches none of 2 files, e\.g\. 'a\.wav'"):
        _labels(["a.wav", "b.wav"], "{who}/*")


def test_one_file_alone_need_not_match():
    assert _labels(["one.wav"], "{who}/*")["who"] == [""]


@pytest.mark.parametrize(
    "pattern", ["*.wav", "{who", "who}", "{who}/{x", "{}/*", "{1a}", "{a b}/*"]
)
def test_a_pattern_without_proper_labels_is_refused(pattern):
    with pytest.raises(ValueError, match=r"pattern .*label"):
        _labels(["a.wav", "b.wav"], pattern)


def test_reserved_names_are_no_labels():
    with pytest.raises(ValueError, match="other than name and file, got 'name'"):
        _labels(["a.wav", "b.wav"], "{name}")


def test_without_a_pattern_folders_are_labels_if_there_are_two():
    assert _labels(["a/1.wav", "a/2.wav", "b/1.wav"])["folder"] == ["a", "a", "b"]
    assert _labels(["a/x/1.wav", "b/x/1.wav"])["folder"] == ["a/x", "b/x"]
    assert "folder" not in _labels(["a/1.wav", "a/2.wav"])
    assert "folder" not in _labels(["1.wav", "2.wav"])


def test_folders_of_splits_are_the_label_split_and_no_folder():
    labels = _labels(["train/a/1.wav", "Val/b/2.wav", "test/a/3.wav"])
    assert labels["split"] == ["train", "validation", "test"]
    assert labels["folder"] == ["a", "b", "a"]
    assert "folder" not in _labels(["train/1.wav", "test/2.wav"])


def test_a_folder_that_is_called_test_among_others_is_no_split():
    labels = _labels(["walk/1.wav", "test/2.wav"])
    assert "split" not in labels
    assert labels["folder"] == ["walk", "test"]


def test_a_file_outside_the_folders_of_splits_has_no_word():
    assert _labels(["train/1.wav", "test/2.wav", "3.wav"])["split"] == ["train", "test", ""]


def test_a_pattern_can_name_the_split():
    assert _labels(["x_train.wav", "y_val.wav"], "{who}_{split}")["split"] == [
        "train",
        "validation",
    ]


def _folder(root: Path, table: str | bytes, names: tuple[str, ...] = ("a.wav", "b/c.wav")):
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (root / "labels.csv").write_bytes(table if isinstance(table, bytes) else table.encode())
    return [root / name for name in names]


def test_a_table_labels_the_files_it_names(tmp_path):
    paths = _folder(tmp_path, 'file,speaker,split\nb\\c.wav," ann ",VAL\n\n')
    labels = read_label_table(tmp_path, paths)
    assert labels == {"speaker": ["", "ann"], "split": ["", "validation"]}


def test_a_table_written_by_a_spreadsheet_is_read(tmp_path):
    paths = _folder(tmp_path, "\ufefffile,speaker\r\na.wav,Zoë\r\nb/c.wav,Bob\r\n")
    assert read_label_table(tmp_path, paths) == {"speaker": ["Zoë", "Bob"]}


def test_without_a_table_there_are_no_labels(tmp_path):
    assert read_label_table(tmp_path, [tmp_path / "a.wav"]) == {}


def test_the_table_has_the_last_word(tmp_path):
    paths = _folder(tmp_path, "file,who\na.wav,ann\nb/c.wav,bob\n", ("a.wav", "b/c.wav"))
    labels = file_labels(paths, tmp_path, "**{who}.wav")
    assert labels == {"name": ["a.wav", "b/c.wav"], "who": ["ann", "bob"]}


def test_a_file_that_is_there_but_not_asked_for_is_no_mistake(tmp_path):
    paths = _folder(tmp_path, "file,who\na.wav,ann\nb/c.wav,bob\n")
    assert read_label_table(tmp_path, paths[:1]) == {"who": ["ann"]}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("file,who\nx.wav,ann\na.wav,bob\n", "names 1 of 2 files that are not in .*: x.wav"),
        ("path,who\na.wav,ann\n", "must have a column 'file' in its first row, got path, who"),
        ("file;who\na.wav;ann\n", "must have a column 'file'.*parted by commas"),
        ("", "must have a column 'file'.* got nothing"),
        ("file,who\na.wav\n", "row 2: 2 cells are wanted, got 1"),
        ("file,who\na.wav,x\na.wav,y\n", "row 3: 'a.wav' is named a second time"),
        ("file,who,who\na.wav,x,y\n", "every column needs a name of its own.*'who'"),
        ("file,\na.wav,x\n", "every column needs a name of its own"),
        ("file,name\na.wav,x\n", "other than 'name'"),
        (b"file,who\na.wav,\xff\n", "cannot be read as a table"),
        ('file,who\na.wav,"x\n', "cannot be read as a table"),
    ],
)
def test_a_bad_table_is_refused_and_named(tmp_path, table, message):
    paths = _folder(tmp_path, table)
    with pytest.raises(ValueError, match=message) as caught:
        read_label_table(tmp_path, paths)
    assert "labels.csv" in str(caught.value)
