"""Golden bytes, round trips, and what does not fit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taquin import puzzle
from taquin.errors import BadInput


@pytest.mark.parametrize(
    ("boards", "form", "packed"),
    [
        ([[1, 2, 3, 0]], "u4", "12 30"),
        ([[1, 2, 3, 4, 5, 0]], "u4", "12 34 50"),
        ([[1, 2, 0], [2, 0, 1]], "u4", "12 00 20 10"),
        ([[0, 15, 1, 14, 2, 13, 3, 12, 4, 11, 5, 10, 6, 9, 7, 8]], "u4", "0f 1e 2d 3c 4b 5a 69 78"),
        ([[1, 2, 0], [2, 0, 1]], "u8", "01 02 00 02 00 01"),
        ([[1, 255, 0]], "u8", "01 ff 00"),
        ([[1, 258, 0]], "u16", "01 00 02 01 00 00"),
    ],
)
def test_the_bytes_are_those_of_the_contract(boards, form, packed):
    assert puzzle.pack(boards, form) == bytes.fromhex(packed)
    assert puzzle.unpack(bytes.fromhex(packed), len(boards[0]), form).tolist() == boards


@given(
    data=st.data(),
    form=st.sampled_from(["u4", "u8", "u16"]),
    dtype=st.sampled_from([np.uint8, np.uint16, np.int64, ">u2", ">i4"]),
    n=st.integers(0, 20),
    order=st.sampled_from("CF"),
)
def test_unpacking_undoes_packing(data, form, dtype, n, order):
    cells = data.draw(st.integers(1, 16 if form == "u4" else 40))
    top = min({"u4": 15, "u8": 255, "u16": 65_535}[form], int(np.iinfo(dtype).max))
    label = st.integers(0, top)
    rows = data.draw(st.lists(st.lists(label, min_size=cells, max_size=cells), min_size=n, max_size=n))
    boards = np.array(rows, dtype, order=order).reshape(n, cells)
    packed = puzzle.pack(boards, form)
    assert len(packed) == n * puzzle.packed_size(cells, form)
    for given_as in (packed, bytearray(packed), memoryview(packed)):
        found = puzzle.unpack(given_as, cells, form)
        assert found.dtype == (np.uint16 if form == "u16" else np.uint8)
        assert found.flags.c_contiguous
        assert found.tolist() == boards.tolist()


@pytest.mark.parametrize("cells", [9, 16])
def test_so_it_does_over_more_than_one_block(cells):
    boards = np.random.default_rng(1).integers(0, 16, (30_000, cells)).astype(np.uint8)
    assert (puzzle.unpack(puzzle.pack(boards, "u4"), cells, "u4") == boards).all()


@pytest.mark.parametrize(
    ("cells", "largest", "form"),
    [
        (1, None, "u4"),
        (16, None, "u4"),
        (17, None, "u8"),
        (256, None, "u8"),
        (257, None, "u16"),
        (65_536, None, "u16"),
        (9, 15, "u4"),
        (9, 16, "u8"),
        (4, 300, "u16"),
    ],
)
def test_the_smallest_form_is_chosen(cells, largest, form):
    assert puzzle.form_for(cells, largest) == form


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda: puzzle.pack([[16, 0]], "u4"), "The form u4 holds labels up to 15, not 16."),
        (lambda: puzzle.pack([[256, 0]], "u8"), "The form u8 holds labels up to 255, not 256."),
        (lambda: puzzle.pack([[70_000, 0]], "u16"), "The form u16 holds labels up to 65,535, not 70000."),
        (lambda: puzzle.pack([[1, -1]], "u4"), "Labels are not negative; -1 is."),
        (lambda: puzzle.pack([[0] * 17], "u4"), "The form u4 is for boards of up to 16 cells, not 17."),
        (lambda: puzzle.pack([1, 2], "u8"), "Boards to pack are an"),
        (lambda: puzzle.pack([[1.0]], "u8"), "Boards to pack are an"),
        (lambda: puzzle.pack([[1]], "u2"), 'A packed form is one of u4, u8, u16, not "u2".'),
        (
            lambda: puzzle.unpack(b"123", 4, "u4"),
            "3 bytes are no whole number of boards: one of 4 cells takes 2 in u4.",
        ),
        (
            lambda: puzzle.unpack(b"1", 16, "u8"),
            "1 byte are no whole number of boards: one of 16 cells takes 16 in u8.",
        ),
        (lambda: puzzle.unpack(b"123", 4, "u16"), "3 bytes are no whole number of boards"),
        (lambda: puzzle.unpack(b"\x12\x34", 3, "u4"), "A board of 3 cells in u4 ends with half a byte of zero"),
        (lambda: puzzle.unpack(b"", 0, "u8"), "A board has from 1 to 65,536 cells, not 0."),
        (lambda: puzzle.form_for(0), "There is no packed form for boards of 0 cells"),
        (lambda: puzzle.form_for(4, 65_536), "There is no packed form"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_length(work, message):
    with pytest.raises(BadInput, match=message):
        work()
