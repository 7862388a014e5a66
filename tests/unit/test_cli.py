"""The command line, run in this process; what needs a queue is in tests/integration."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from tempfile import TemporaryFile

import pytest

from taquin import cli
from taquin.version import __version__

BOARDS = """\
# two boards by lines, one in a line of its own
1 2 3 4
5 6 7 8
9 10 11 12
13 15 14 _

1 2 3
4 5 6
7 8 .

2,1/3,x
"""


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command; give its exit status, output and error output."""

    def run(*arguments, stdin=None):
        monkeypatch.setattr(sys, "argv", ["taquin", *map(str, arguments)])
        with TemporaryFile() as file:
            file.write(stdin if isinstance(stdin, bytes) else (stdin or "").encode())
            file.seek(0)
            monkeypatch.setattr(sys, "stdin", file)
            with pytest.raises(SystemExit) as exit_:
                cli.main()
        out, err = capsys.readouterr()
        return exit_.value.code, out, err

    return run


def test_version(run):
    assert run("--version") == (0, f"taquin {__version__}\n", "")


def test_help_names_every_command(run):
    status, out, _ = run("--help")
    assert status == 0
    queue = ("send", "submit", "generate", "jobs", "job", "results", "claim", "confirm", "release", "pools", "events")
    for command in ("demo", "check", "repair", *queue, "worker", "health", "doctor", "stats"):
        assert command in out


def test_check_shows_grids_and_sentences(run, tmp_path):
    file = tmp_path / "boards.txt"
    file.write_text(BOARDS)
    status, out, err = run("check", file)
    assert (status, err) == (1, "")
    assert f"{file}:2 unsolvable" in out
    assert f"{file}:7 solvable" in out
    assert f"{file}:11 unsolvable" in out
    assert "│ 13 │ 15 │ 14 │" in out
    assert "1 inversion" in out
    assert out.endswith("2 unsolvable, 1 solvable\n")


@pytest.mark.parametrize(
    ("board", "status"),
    [
        ("1 2/3 0", 0),
        ("2 1/3 0", 1),
        ("1 1/3 0", 1),
        ("1 2/a 0", 1),
        ('{"board": [[1, 2], [3, 0]]}', 0),
        ("[[2,1],[3,0]]", 1),
    ],
)
def test_exit_status_of_check(run, board, status):
    assert run("check", stdin=board)[0] == status


def test_json_prints_one_answer_a_line_and_nothing_else(run):
    status, out, err = run("check", "--json", "-", stdin=BOARDS)
    answers = [json.loads(line) for line in out.splitlines()]
    assert [answer["status"] for answer in answers] == ["unsolvable", "solvable", "unsolvable"]
    assert (status, err) == (1, "")


def test_json_lines_of_boards_and_of_requests(run):
    lines = [
        "[[1,2,3],[4,5,6],[8,7,0]]",
        '{"board": [[1,2,3],[4,5,6],[8,7,0]], "goal": "snail"}',
        "",
        '{"board": [[1,2],[3,null]], "blank": null}',
        '{"bord": []}',
        "[[1,2],",
        "7",
    ]
    status, out, _ = run("check", "--json", stdin="\n".join(lines))
    answers = [json.loads(line) for line in out.splitlines()]
    assert [answer["status"] for answer in answers] == [
        "unsolvable", "solvable", "solvable", "invalid", "invalid", "invalid",
    ]  # fmt: skip
    assert answers[4]["problems"][0]["where"] == "line 6"
    assert status == 1


def test_goal(run):
    board = "1 2 3/4 5 6/8 7 0"
    assert run("check", stdin=board)[0] == 1
    for goal in ("snail", "1 2 3/8 0 4/7 6 5", "[[1,2,3],[8,0,4],[7,6,5]]"):
        assert run("check", "--goal", goal, stdin=board)[0] == 0


def test_standard_input_is_read_as_a_file_is(run):
    for text in ("1 2/3 0", "[[1,2],[3,0]]", "# two by two\r\n1 2/3 0\r\n"):
        assert run("check", "--json", stdin=b"\xef\xbb\xbf" + text.encode())[0] == 0
    status, _, err = run("check", stdin=b"\x89PNG\xff\xfe")
    assert (status, err) == (
        2, "taquin: standard input is no text: invalid start byte at byte 0; UTF-8 is expected\n",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("check <&-", "standard input is closed: pipe the boards in, or name a file"),
        ("submit - <&-", "standard input is closed: pipe the boards in, or name a file"),
        ("check 0>/dev/null", "standard input cannot be read: Bad file descriptor"),
        ("generate 4x4 3 >&-", "standard output is closed: name a file by --out"),
        ("results some >&-", "standard output is closed: name a file by --out"),
    ],
)
def test_closed_or_useless_standard_streams(command, message):
    environment = os.environ | {"TAQUIN_REDIS_URL": "" if "generate" in command else "redis://127.0.0.1:1"}
    result = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m taquin {command}'],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"taquin: {message}\n")


def test_repair_marks_the_swapped_tiles(run):
    status, out, _ = run("repair", stdin="1 2 3 4/5 6 7 8/9 10 11 12/13 15 14 0")
    assert status == 0
    assert "[12]" in out or "[13]" in out
    assert "solvable now" in out


def test_repair_of_what_cannot_be_repaired(run):
    status, out, _ = run("repair", "--json", stdin="2 1 0")
    answer = json.loads(out)
    assert (status, answer["status"], answer["problems"][0]["problem"]) == (1, "unsolvable", "unrepairable")


def test_repair_obeys_swap_and_pinned(run):
    board = "1 2 3/4 5 6/8 7 0"
    assert json.loads(run("repair", "--json", "--swap", "1,2", stdin=board)[1])["swap"]["tiles"] == [1, 2]
    tiles = json.loads(run("repair", "--json", "--pinned", "6 5 4", stdin=board)[1])["swap"]["tiles"]
    assert not {4, 5, 6} & set(tiles)


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (["check", "/nowhere"], None, "/nowhere cannot be read: No such file"),
        (["check"], "", "standard input holds no board"),
        (["check"], "\n# nothing\n", "standard input holds no board"),
        (["check", "--goal", "home"], "1 0", "--goal: 'home' is neither"),
        (["check", "--goal", "[1"], "1 0", "--goal: '[1' is not JSON"),
        (["check", "--goal", "[" * 5_000], "1 0", "is not JSON"),
        (["send", "--kind", "validate", "--swap", "gentle"], "1 0", "--swap goes with --kind repair"),
        (["send", "--kind", "validate", "--pinned", "1"], "1 0", "--pinned goes with --kind repair"),
        (["send", "--swap", "first"], "1 0", "--swap: 'first' is no list of tiles"),
        (["submit", "-", "--swap", "last"], "1 0", "--swap goes with --kind repair"),
        (["submit", "-", "--kind", "validate", "--pinned", "1"], "1 0", "--pinned goes with --kind repair"),
        (["submit", "-", "--pool"], "1 0", "--pool goes with --kind repair"),
        (["generate", "4x4", "3", "--wait"], None, "--wait goes with --pool"),
        (["repair", "--swap", "first"], "1 0", "--swap: 'first' is no list of tiles"),
        (["repair", "--pinned", "a"], "1 0", "--pinned: 'a' is no list of tiles"),
        (["check"], "1 " * 2_000_000, "standard input:1 is longer than 2,000,000 characters"),
        (["worker", "--queues", "fast"], None, "there is no queue 'fast'"),
        (["worker", "--pool", "eventlet"], None, "there is no pool 'eventlet'"),
        (["health"], None, "TAQUIN_HEARTBEAT_FILE must name"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(run, arguments, stdin, message):
    status, out, err = run(*arguments, stdin=stdin)
    assert (status, out) == (2, "")
    assert err.startswith("taquin: ")
    assert message in err
    assert err.count("\n") == 1


def test_a_file_that_is_no_text(run, tmp_path):
    file = tmp_path / "picture.png"
    file.write_bytes(b"\x89PNG\xff\xfe")
    status, _, err = run("check", file)
    assert status == 2
    assert f"{file} is no text" in err


def test_a_bad_setting_is_one_line_and_exit_2(run, monkeypatch):
    monkeypatch.setenv("TAQUIN_REDIS_URL", "nonsense")
    status, _, err = run("send", stdin="1 0")
    assert status == 2
    assert "TAQUIN_REDIS_URL: must begin with redis://" in err


def test_a_redis_that_is_away_is_one_line_and_exit_3(run, monkeypatch):
    monkeypatch.setenv("TAQUIN_REDIS_URL", "redis://127.0.0.1:1")
    status, _, err = run("send", stdin="1 0")
    assert status == 3
    assert "Redis at 127.0.0.1:1 does not answer" in err


def test_a_larger_board_needs_a_larger_limit(run, monkeypatch):
    side = 100
    board = "/".join(" ".join(str((r * side + c + 1) % side**2) for c in range(side)) for r in range(side))
    answer = json.loads(run("check", "--json", stdin=board)[1])
    assert answer["problems"][0]["problem"] == "too_large"
    monkeypatch.setenv("TAQUIN_MAX_CELLS", "10000")
    assert run("check", "--json", stdin=board)[0] == 0


def test_wide_boards_and_junk_are_drawn_without_fuss(run):
    wide = " ".join(map(str, [*range(1, 40), 0]))
    assert run("check", stdin=wide)[0] == 0
    for junk in ("[[[[]]]]", '"text"', "[[1e999]]", "[" + "1" * 5000 + "]", "[" * 5000, '{"board": {"a": 1}}'):
        assert run("check", stdin=junk)[0] in (1, 2)


def test_no_color_and_no_escape_codes_in_a_pipe():
    result = subprocess.run(
        [sys.executable, "-m", "taquin", "check"], input="2 1/3 0", capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert "\x1b" not in result.stdout + result.stderr


def test_completion_is_there():
    result = subprocess.run(
        [sys.executable, "-m", "taquin", "--show-completion", "bash"], capture_output=True, text=True, check=True
    )
    assert "TAQUIN_COMPLETE" in result.stdout.upper()
