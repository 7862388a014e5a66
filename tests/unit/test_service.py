"""Requests in, answers out."""

from __future__ import annotations

import pytest

from taquin import service
from taquin.messages import Answer

BOARD = [[1, 2, 3], [4, 5, 6], [8, 7, 0]]


def test_an_answer_survives_the_wire():
    answer = service.repair({"board": BOARD})
    assert Answer.model_validate_json(answer.model_dump_json()) == answer
    assert Answer.model_validate(answer.model_dump(mode="json")) == answer


def test_the_contract_of_the_answer():
    """Fields are only ever added: this is what readers in other languages rely on."""
    answer = service.repair({"board": [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 15, 14, 0]]})
    dumped = answer.model_dump(mode="json")
    assert dumped["status"] == "repaired"
    assert set(dumped) >= {"status", "board", "swap", "evidence", "problems"}
    assert dumped["swap"].keys() == {"cells", "tiles"}
    assert dumped["evidence"] | {"sentence": ""} == {
        "rule": "inversions",
        "solvable": False,
        "inversions": 1,
        "blank": [3, 3],
        "blank_row_from_top": 4,
        "blank_row_from_bottom": 1,
        "width": "even",
        "permutation": "odd",
        "blank_distance": 0,
        "sentence": "",
    }


@pytest.mark.parametrize("use_case", [service.validate, service.repair])
def test_a_solvable_board_is_served_as_it_came(use_case):
    answer = use_case({"board": [[1, 2, 3], [4, 5, 6], [7, 0, 8]]})
    assert (answer.status, answer.board, answer.problems) == ("solvable", [[1, 2, 3], [4, 5, 6], [7, 0, 8]], [])


def test_a_repaired_board_keeps_the_evidence_of_what_came():
    answer = service.repair({"board": BOARD})
    assert not answer.evidence.solvable


def test_an_unsolvable_line_stays_unsolvable_and_says_why():
    answer = service.repair({"board": [[2, 1, 3, 0]]})
    assert (answer.status, answer.board, answer.swap) == ("unsolvable", None, None)
    assert answer.evidence.rule == "order"
    assert answer.problems[0].problem == "unrepairable"


def test_a_swap_of_tiles_that_the_board_has_not_is_invalid():
    for swap in ([1, 99], [0, 1], [2, 2]):
        answer = service.repair({"board": BOARD, "swap": swap})
        assert answer.status == "invalid"
        assert answer.problems[0].where == "swap"


def test_pinned_tiles_that_the_board_has_not():
    answer = service.repair({"board": BOARD, "pinned": [99]})
    assert answer.status in ("repaired", "invalid")


def test_more_than_one_problem_is_listed():
    answer = service.validate({"board": [[1, 1, 9], [4, 5, 6], [8, 7, 3]]})
    assert {problem.problem for problem in answer.problems} == {
        "duplicate_tiles", "missing_tiles", "out_of_range", "no_blank",
    }  # fmt: skip


def test_the_limit_of_cells_can_be_set():
    board = [[*range(1, 1025), 0]]
    assert service.validate({"board": board}).problems[0].problem == "too_large"
    assert service.validate({"board": board}, max_cells=1025).status == "solvable"


@pytest.mark.parametrize("payload", [b"", b"{", b"\xff", b"[" * 100_000, b"nan", b"7", b"null"])
def test_work_answers_whatever_the_payload_is(payload):
    assert service.work("validate", payload).answer.status == "invalid"


def test_field_names_of_the_request_are_not_echoed_at_length():
    answer = service.validate({"board": BOARD, "x" * 100_000: 1} | {f"f{n}": 1 for n in range(1000)})
    assert len(answer.model_dump_json()) < 10_000
