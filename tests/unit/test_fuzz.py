"""Parsers under whatever may come: every refusal is one of ours and says why, and memory stays within bounds."""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taquin import service
from taquin.cli.reading import read_entries
from taquin.errors import BadInput
from taquin.guard import fault_of
from taquin.lines import LINE_MOST
from taquin.messages import Answer, JobRequest
from taquin.puzzle.shape import parse_shape
from taquin.puzzle.text import parse_board, parse_boards
from taquin.service.chunks import chunk
from tests.unit.test_guard import BAD, GOOD

HUGE = 10**9

calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=10), inner, max_size=6),
    max_leaves=30,
)
cells = st.integers(-3, 12) | st.sampled_from([None, "", "x", 2**63, -HUGE, True, 0.0])
near_boards = st.lists(st.lists(cells, max_size=5), max_size=5)
near_requests = st.fixed_dictionaries(
    {"board": near_boards | json_values},
    optional={
        "goal": st.sampled_from(["blank-last", "blank-first", "snail", "snake", "home"]) | near_boards | json_values,
        "blank": st.sampled_from([0, None, "", 9, "x"]) | json_values,
        "swap": st.sampled_from(["last", "gentle", "random"]) | st.lists(cells, max_size=3) | json_values,
        "pinned": st.lists(cells, max_size=4) | json_values,
        "pool": json_values,
        "extra": json_values,
    },
)
board_like_text = st.text(alphabet="0123456789 ,/_.x#\n\r\t-+é\u2028\0", max_size=200) | st.text(max_size=100)


def json_lines(values):
    return "\n".join(map(json.dumps, values)).encode()


@calm
@given(board_like_text)
def test_text_is_read_or_refused(text):
    try:
        rows = parse_board(text)
    except BadInput:
        return
    assert all(isinstance(cell, (int, str)) for row in rows for cell in row)


@calm
@given(st.binary(max_size=300) | board_like_text.map(str.encode) | st.lists(json_values, max_size=4).map(json_lines))
def test_files_are_read_or_refused(tmp_path_factory, data):
    file = tmp_path_factory.getbasetemp() / "fuzzed"
    file.write_bytes(data)
    try:
        entries = list(read_entries([str(file)], {"goal": "blank-last"}))
    except BadInput:
        return
    assert entries
    assert all(entry.error or service.validate(entry.request) for entry in entries)


@calm
@given(st.sampled_from(["validate", "repair"]), near_requests | json_values)
def test_whatever_json_asks_is_answered(kind, request):
    answer, _ = service.respond(kind, request)
    assert isinstance(answer, Answer)
    assert answer.status != "invalid" or all(problem.message for problem in answer.problems)
    assert len(answer.model_dump_json()) < 100_000


@calm
@given(st.binary(max_size=300) | near_requests.map(lambda request: json.dumps(request).encode()))
def test_whatever_bytes_ask_is_answered(payload):
    answer, _ = service.work("repair", payload)
    assert isinstance(answer, Answer)


@calm
@given(
    st.fixed_dictionaries(
        {
            "kind": st.sampled_from(["validate", "repair", "generate"]),
            "rows": st.integers(-1, 5) | st.just(HUGE),
            "cols": st.integers(-1, 5) | st.just(HUGE),
            "form": st.sampled_from(["u4", "u8", "u16", "u32"]),
        },
        optional={
            "goal": near_boards | st.just("snake"),
            "pool": st.booleans(),
            "seed": json_values,
            "band": json_values,
        },
    ),
    st.integers(0, 50),
    st.binary(max_size=400),
)
def test_a_chunk_is_done_or_refused(asked, boards, payload):
    """Only who may write to Redis can make these; they fail their attempts, with a reason, and harm nobody."""
    try:
        answer = chunk(json.dumps(asked).encode(), "job:0", boards, payload)
    except ValueError:  # as ours and pydantic's are
        return
    assert min(answer.counts) >= 0


@calm
@given(st.binary(max_size=500) | json_values.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_judged_as_a_message(data):
    assert isinstance(fault_of(data), str)


@calm
@given(st.sampled_from([*GOOD.values(), *(bad for bad, _ in BAD.values() if len(bad) < 2_000)]), st.data())
def test_mutilated_messages_are_judged(whole, data):
    bytes_ = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        if bytes_:
            bytes_[data.draw(st.integers(0, len(bytes_) - 1))] = data.draw(st.integers(0, 255))
    assert isinstance(fault_of(bytes(bytes_)), str)


@calm
@given(json_values, json_values)
def test_headers_of_any_kind_are_judged(value, other):
    whole = json.loads(GOOD["smallest"])
    for changed in (
        whole | {"headers": value},
        whole | {"properties": value},
        whole | {"headers": whole["headers"] | {"timelimit": value, "expires": other}},
        whole | {"properties": whole["properties"] | {"delivery_info": value, "delivery_tag": other}},
        whole | {"body": json.dumps([value, other, {}])},
    ):
        assert isinstance(fault_of(json.dumps(changed).encode()), str)


# Too much of everything.


@pytest.mark.parametrize("shape", [f"{HUGE}x{HUGE}", (HUGE, HUGE), [10**400, 1], "9" * 5_000 + "x1", (math.inf, 2)])
def test_a_huge_shape_is_refused_at_once(shape):
    with pytest.raises(BadInput):
        parse_shape(shape)


@pytest.mark.parametrize("field", ["rows", "cols"])
def test_a_job_of_a_huge_shape_is_refused(field):
    request = {"kind": "generate", "rows": 4, "cols": 4, "form": "u8"} | {field: HUGE}
    with pytest.raises((BadInput, ValueError)):
        chunk(json.dumps(request).encode(), "job:0", 10, b"")


@pytest.mark.parametrize("payload", [b"[" * 500_000, b'{"board":' * 100_000, b'{"board": [[' + b"9" * 900_000 + b"]]}"])
def test_depth_and_length_are_answered(payload):
    answer, _ = service.work("validate", payload)
    assert answer.status == "invalid"
    assert len(answer.model_dump_json()) < 2_000


def test_a_board_without_end_is_refused():
    with pytest.raises(BadInput, match="more than 1,000,000 cells"):
        list(parse_boards("1" for _ in range(2_000_000)))


@pytest.mark.parametrize("begin", ["1 ", "[", '{"board": "', "#"])
def test_a_line_of_200_mb_costs_little(tmp_path, begin):
    """In a process that may not take much more than Python and NumPy themselves."""
    file = tmp_path / "long"
    with file.open("w") as out:
        for _ in range(200):
            out.write(begin * (1_000_000 // len(begin)))
    allowed = 1_000_000_000

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (allowed, allowed))

    command = [sys.executable, "-m", "taquin", "check", str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, check=False)
    assert ended.returncode == 2, ended.stderr[-500:]
    assert f"{file}:1 is longer than {LINE_MOST:,} characters" in ended.stderr


def test_requests_of_jobs_are_strict():
    with pytest.raises(ValueError, match="extra"):
        JobRequest.model_validate_json('{"kind": "validate", "rows": 2, "cols": 2, "form": "u8", "extra": 1}')
