"""From whatever holds many boards to packed chunks: lazily, and every board in its place."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from taquin.client.packing import CHUNK_MOST, ITEMS_MOST, NOTED_MOST, chunk_size, infer_shape, loaded, packed_chunks
from taquin.errors import BadInput, BadShape
from taquin.puzzle import unpack
from taquin.puzzle.packed import form_for
from taquin.puzzle.parity import check
from taquin.puzzle.shape import Shape

GOOD = [[1, 2], [3, 0]]
OTHER = [[0, 1], [2, 3]]
SHAPE = Shape(2, 2)


def chunks(source, size=10, shape=SHAPE, goal="blank-last"):
    return list(packed_chunks(source, shape, goal, form_for(shape.cells), size))


def boards(packed, shape=SHAPE):
    return np.concatenate([unpack(one.payload, shape.cells, form_for(shape.cells)) for one in packed]).tolist()


def notes(packed):
    """The notes of all chunks by the index of the board in the source."""
    found, start = {}, 0
    for one in packed:
        found |= {start + int(k): names for k, names in json.loads(one.notes or b"{}").items()}
        start += one.boards
    return found


@pytest.mark.parametrize(
    "source",
    [
        np.array([GOOD, OTHER, GOOD]),
        np.array([GOOD, OTHER, GOOD], np.int8).reshape(3, 4),
        np.array([GOOD, OTHER, GOOD], np.uint64),
        np.array([GOOD, OTHER, GOOD], ">i4"),
        np.array([GOOD, OTHER, GOOD])[::1, ::-1][:, ::-1],
        [GOOD, OTHER, GOOD],
        (tuple(map(tuple, board)) for board in (GOOD, OTHER, GOOD)),
        [np.array(GOOD), np.array(OTHER), np.array(GOOD)],
        [[1, 2, 3, 0], [0, 1, 2, 3], [1, 2, 3, 0]],
        ["1 2/3 _", "x 1/2 3", "1 2\n3 0"],
        [{"board": GOOD}, {"board": "0 1/2 3"}, {"board": [1, 2, 3, 0]}],
        [GOOD, "0,1/2,3", np.array([1, 2, 3, 0])],
        iter([np.array([GOOD, OTHER]), np.array([GOOD])]),
        iter([np.array([[1, 2, 3, 0], [0, 1, 2, 3]]), np.array([[1, 2, 3, 0]])]),
    ],
)
def test_every_way_to_hold_boards(source):
    packed = chunks(source)
    assert boards(packed) == [[1, 2, 3, 0], [0, 1, 2, 3], [1, 2, 3, 0]]
    assert sum(one.boards for one in packed) == 3
    assert notes(packed) == {}


@pytest.mark.parametrize(("count", "size", "sizes"), [(5, 2, [2, 2, 1]), (4, 2, [2, 2]), (1, 5, [1]), (0, 5, [])])
def test_chunks_are_full_but_the_last(count, size, sizes):
    for source in (np.tile(np.array(GOOD), (count, 1, 1)), [GOOD] * count):
        assert [one.boards for one in chunks(source, size)] == sizes


def test_a_source_is_read_no_further_than_one_chunk():
    drawn = itertools.count()
    endless = (OTHER for _ in drawn)
    first = next(packed_chunks(endless, SHAPE, "blank-last", "u4", 10))
    assert (first.boards, next(drawn)) == (10, 10)


BROKEN = [
    ([[1, 2], [3, 3]], None),  # a board of the shape all the same: the worker says what is wrong
    ([[1, 2], [3, -1]], ["out_of_range", "missing_tiles", "no_blank"]),
    ([[1, 2], [3, 99]], ["out_of_range", "missing_tiles", "no_blank"]),
    ([[1, 2], [3, 1 << 70]], ["out_of_range", "missing_tiles", "no_blank"]),
    ([[1, 2], [True, 0]], ["not_integers"]),
    ([[True, 2], [3, 0]], ["not_integers"]),  # would be a board if it were taken for 1
    ([[1, 2], [3.0, 0]], ["not_integers"]),
    ([[1, 2], ["3", 0]], ["not_integers"]),
    ([[1, 2], [3]], ["not_rectangular"]),
    ([[1, 2, 3], [4, 5, 0]], ["wrong_shape"]),
    ([1, 2, 3], ["not_rectangular"]),
    ([], ["not_rectangular"]),
    (None, ["not_rectangular"]),
    (7, ["not_rectangular"]),
    ({}, ["bad_request"]),
    ({"board": GOOD, "goal": "snail"}, ["bad_request"]),
    ("", ["not_a_board"]),
    ("1 2/3 a", ["not_integers"]),
    ([[[[1]]]], ["not_integers"]),
]


@pytest.mark.parametrize("alone", [True, False])
def test_what_is_no_board_keeps_its_place_and_is_invalid(alone):
    items = [item for item, _ in BROKEN]
    source = items if alone else [each for item in items for each in (GOOD, item)]
    packed = chunks(source, size=7 if alone else 2)
    arrived = np.array(boards(packed))
    noted = notes(packed)
    step = 1 if alone else 2
    problems = check(arrived, SHAPE, "blank-last").problems
    assert (problems[step - 1 :: step] != 0).all()
    assert alone or not problems[::2].any()
    for number, (item, names) in enumerate(BROKEN):
        seen = noted.get(step * number + step - 1)
        if names is None:
            assert seen is None, item
        else:
            assert set(seen) >= set(names[:1]), (item, seen)


def test_cells_out_of_range_in_an_array():
    source = np.array([GOOD, [[1, 2], [3, 300]], [[-1, 2], [3, 0]], OTHER])
    packed = chunks(source)
    assert boards(packed)[0] == [1, 2, 3, 0]
    assert boards(packed)[3] == [0, 1, 2, 3]
    assert all("out_of_range" in names for names in notes(packed).values())
    assert set(notes(packed)) == {1, 2}
    assert source[1, 1, 1] == 300  # what the caller holds is not changed


def test_notes_have_a_limit_and_boards_beyond_it_are_invalid_all_the_same():
    (one,) = chunks(["nothing"] * (NOTED_MOST + 10), size=NOTED_MOST + 10)
    assert len(json.loads(one.notes)) == NOTED_MOST
    assert check(unpack(one.payload, 4, "u4"), SHAPE, "blank-last").problems.all()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (np.zeros((3, 5), int), r"boards of 2x2 come as an array of \(n, 4\) or \(n, 2, 2\), not \(3, 5\)"),
        (np.zeros((3, 2, 3), int), r"not \(3, 2, 3\)"),
        (np.zeros(4, int), r"not \(4,\)"),
        (np.array(4), r"not \(\)"),
        (np.zeros((3, 2, 2)), "an array of whole numbers, not of float64"),
        (np.zeros((3, 4), bool), "not of bool"),
        (np.zeros((3, 4), "U2"), r"not of text \(<U2\)"),
        (np.array(["1 2/3 0"]), r"not of text \(<U7\)"),
        (np.zeros((3, 2, 2, 1), int), r"not \(3, 2, 2, 1\)"),
        (np.zeros((3, 4), object), "not of object"),
        (7, "boards are an array, an iterable or the path of a file, not a int"),
        (None, "not a NoneType"),
        (iter([np.zeros((3, 4), int), np.zeros((3, 5), int)]), r"not \(3, 5\)"),
    ],
)
def test_what_is_no_source(source, message):
    with pytest.raises(BadInput, match=message):
        chunks(source)


def test_a_file_of_json_lines(tmp_path):
    file = tmp_path / "boards.jsonl"
    file.write_text('\ufeff[[1,2],[3,0]]\n\n{"board": "0 1/2 3"}\nnonsense\n[[1,2],[3,3]]\n"no board"\n[[1,2],[3,0]]')
    for source in (file, str(file)):
        packed = chunks(source, size=2)
        assert [one.boards for one in packed] == [2, 2, 2]
        assert boards(packed)[0] == boards(packed)[5] == [1, 2, 3, 0]
        assert notes(packed) == {2: ["not_a_board"], 4: notes(packed)[4]}
        assert infer_shape(source) == (SHAPE, source)


def test_a_file_of_text(tmp_path):
    file = tmp_path / "boards.txt"
    file.write_text("\ufeff# two\n1 2\n3 _\n\n0 1/2 3\n\n1 2 3\n")
    packed = chunks(file)
    assert boards(packed)[:2] == [[1, 2, 3, 0], [0, 1, 2, 3]]
    assert set(notes(packed)) == {2}
    assert infer_shape(file) == (SHAPE, file)


@pytest.mark.parametrize("content", ["", "\n \n", "# nothing\n"])
def test_a_file_that_holds_no_board(tmp_path, content):
    file = tmp_path / "boards.txt"
    file.write_text(content)
    for read in (chunks, infer_shape):
        with pytest.raises(BadInput, match=f"{file} holds no board"):
            read(file)


def test_a_file_of_an_array(tmp_path):
    file = tmp_path / "boards.npy"
    np.save(file, np.array([GOOD, OTHER]))
    for source in (file, str(file)):
        assert boards(chunks(loaded(source))) == [[1, 2, 3, 0], [0, 1, 2, 3]]
    np.save(file, np.array([(2, GOOD)], [("status", "u1"), ("board", "u1", (2, 2))]))  # as `taquin results` writes
    assert boards(chunks(loaded(file))) == [[1, 2, 3, 0]]
    np.save(file, np.array([None]), allow_pickle=True)
    with pytest.raises(BadInput, match="no array that can be read"):
        loaded(file)
    with pytest.raises(BadInput, match=r"nowhere\.npy cannot be read: No such file"):
        loaded("nowhere.npy")
    assert loaded("boards.jsonl") == "boards.jsonl"


def test_files_that_are_none(tmp_path):
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    with pytest.raises(BadInput, match=f"{picture} is no text: .* at byte 0; UTF-8 is expected"):
        chunks(picture)
    with pytest.raises(BadInput, match="nowhere cannot be read: No such file"):
        chunks("nowhere")
    with pytest.raises(BadInput, match="cannot be read: Is a directory"):
        chunks(tmp_path)


def test_an_endless_line_is_refused_after_a_while():
    if not Path("/dev/zero").exists():
        pytest.skip("there is no /dev/zero here")
    with pytest.raises(BadInput, match="/dev/zero:1 is longer than 2,000,000 characters"):
        chunks("/dev/zero")


@pytest.mark.parametrize(
    ("source", "shape"),
    [
        (np.zeros((3, 4, 5), int), (4, 5)),
        ([[[1, 2, 3], [4, 5, 0]]], (2, 3)),
        (["junk", None, "1 2 3/4 5 0"], (1, 1)),
        ([None, 7, "", {"board": [[1, 0]]}], (1, 2)),
    ],
)
def test_the_shape_is_that_of_the_first_board(source, shape):
    known, again = infer_shape(source)
    assert known == shape
    assert len(list(again)) == len(source)


@pytest.mark.parametrize("source", [np.zeros((3, 4), int), [[1, 2, 3, 0]], [None] * 200, []])
def test_a_shape_that_does_not_show(source):
    with pytest.raises(BadInput, match=r"say it, such as --shape 3x3, in Python shape=\(3, 3\)"):
        infer_shape(source)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (np.array(7), r"\(n, cells\) or \(n, rows, cols\), not \(\)"),
        (np.zeros((1, 2, 2, 1), int), r"not \(1, 2, 2, 1\)"),
        (np.array(["1 2/3 0"]), r"whole numbers, not of text \(<U7\)"),
        (np.zeros((3, 2, 2)), "whole numbers, not of float64"),
    ],
)
def test_an_array_that_holds_no_boards_has_no_shape(source, message):
    with pytest.raises(BadInput, match=message):
        infer_shape(source)


def test_a_shape_that_cannot_be():
    with pytest.raises(BadShape):
        infer_shape(np.zeros((1, 300, 300), int))


def test_chunks_hold_the_same_work_whatever_the_shape():
    assert chunk_size(16) == CHUNK_MOST
    assert chunk_size(1_024) == 3_906
    assert chunk_size(10**9) == 1


@pytest.mark.parametrize("side", [2, 4, 5, 16, 17])
def test_every_form(side):
    shape, cells = Shape(side, side), side * side
    source = np.random.default_rng(1).permuted(np.tile(np.arange(cells), (20, 1)), axis=1)
    packed = chunks(source, shape=shape)
    assert boards(packed, shape) == source.tolist()


def test_boards_that_come_one_by_one_make_smaller_chunks():
    """Lists of Python take ten times the memory of an array."""
    boards = (board for board in [[[1, 2], [3, 0]]] * (2 * ITEMS_MOST + 1))
    chunks = packed_chunks(boards, Shape(2, 2), "blank-last", "u4", chunk_size(4), exact=False)
    assert [chunk.boards for chunk in chunks] == [ITEMS_MOST, ITEMS_MOST, 1]
