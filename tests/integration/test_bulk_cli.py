"""The commands for jobs, pools and events, run in this process against a real worker."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer

import numpy as np
import pytest

from taquin import cli, puzzle
from taquin.client.job import STATUSES
from taquin.connection import connect
from taquin.errors import Unavailable
from taquin.settings import Settings
from tests.integration.textbook import shuffled, solvable


@pytest.fixture
def taquin(monkeypatch, capsys, live_redis, live_worker):
    """Run the command against the live worker; give its exit status, output and error output."""
    del live_worker
    monkeypatch.setenv("TAQUIN_REDIS_URL", live_redis.url)
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments, stdin=None):
        monkeypatch.setattr(sys, "argv", ["taquin", *map(str, arguments)])
        with TemporaryFile() as file:
            file.write((stdin or "").encode())
            file.seek(0)
            monkeypatch.setattr(sys, "stdin", file)
            with pytest.raises(SystemExit) as exit_:
                cli.main()
        out, err = capsys.readouterr()
        return exit_.value.code, out, err

    return run


@pytest.fixture
def alone(monkeypatch, live_redis):
    """Have the commands use a prefix that no worker knows; gives a client of that Redis."""
    monkeypatch.setenv("TAQUIN_KEY_PREFIX", "alone:")
    with connect(Settings(redis_url=live_redis.url)) as redis:
        redis.delete(*redis.keys("alone:*"), "alone:")
        yield redis


def lines_of(boards, rows, cols):
    return [json.dumps(board.reshape(rows, cols).tolist()) for board in boards]


def test_a_file_goes_through_and_every_line_is_answered(taquin, tmp_path, live_redis):
    """What benchmarks/acceptance.py does with a million."""
    count = 100_000
    boards = shuffled(count, 4, 4, seed=11)
    good = solvable(boards, 4, 4)
    lines = lines_of(boards, 4, 4)
    broken = dict.fromkeys(range(7, count, 1_001))
    for at in broken:
        lines[at] = ("nonsense", "[[1,2],[3,0]]", lines[at].replace("0", "99"), '{"board":[],"goal":"snail"}')[at % 4]
    source, results = tmp_path / "boards.jsonl", tmp_path / "results.jsonl"
    source.write_text("\n".join(lines) + "\n")
    status, out, err = taquin("submit", source, "--kind", "repair", "--pool", "--wait")
    assert (status, len(out.splitlines())) == (1, 1)  # some are invalid
    assert err.startswith(f"complete: {count:,} boards at ")
    id = out.strip()
    status, out, _ = taquin("job", id, "--json")
    shown = json.loads(out)
    repaired = count - len(broken) - int(good.sum()) + int(good[list(broken)].sum())
    assert (shown["repaired"], shown["invalid"], shown["dead"], shown["unsolvable"]) == (repaired, len(broken), 0, 0)
    assert shown["solvable"] + repaired + len(broken) == shown["boards"] == shown["done"] == count
    assert taquin("results", id, "--out", results) == (0, "", f"{count:,} answers in {results}\n")
    seen = 0
    served = []
    with results.open() as file:
        for index, line in enumerate(file):
            answer = json.loads(line)
            assert answer["index"] == index
            if index in broken:
                assert (answer["status"], answer["board"]) == ("invalid", None)
                assert answer["problems"]
            else:
                assert (answer["status"], answer["problems"]) == ("solvable" if good[index] else "repaired", [])
                served.append(answer["board"])
            seen += 1
    assert seen == count
    assert solvable(served, 4, 4).all()
    with connect(Settings(redis_url=live_redis.url)) as redis:
        names = [f"taquin:pool:4x4:{band}" for band in puzzle.BANDS]
        assert sum(redis.scard(name) for name in names) == shown["pooled"]
        redis.delete(*names)


@pytest.mark.parametrize(
    ("boards", "arguments", "status"),
    [
        ("[[1,2],[3,0]]\n[[1,2],[0,3]]", [], 0),
        ("[[2,1],[3,0]]", [], 1),
        ("[[2,1],[3,0]]", ["--kind", "repair"], 0),
        ("[[1,1],[3,0]]", ["--kind", "repair"], 1),
        ("1 2/3 _\n\n1 2\n0 3", [], 0),
        ("2 1 3", ["--kind", "repair", "--shape", "1x3"], 1),
        ("[[1,2,3],[8,0,4],[7,6,5]]", ["--goal", "snail"], 0),
        ("[[1,2,3],[4,5,6],[8,7,0]]", ["--kind", "repair", "--swap", "1,2", "--pinned", "3", "--chunk", "1"], 0),
    ],
)
def test_exit_status_of_submit(taquin, boards, arguments, status):
    found, out, err = taquin("submit", "-", "--wait", *arguments, stdin=boards)
    assert (found, err[:10]) == (status, "complete: ")
    assert len(out.split()) == 1


def test_send_says_what_check_and_repair_say(taquin):
    lines = '[[2,1,3],[4,5,6],[7,8,0]]\n[[1,2],\nnull\n{"board":[[2,1],[3,0]]}\n[[1,2],[3,0]]'
    for here, there in (
        (["check"], ["--kind", "validate"]),
        (["repair"], []),
        (["repair", "--swap", "1,2"], ["--swap", "1,2"]),
        (["repair", "--pinned", "1"], ["--kind", "repair", "--pinned", "1"]),
    ):
        said = taquin(*here, "--json", stdin=lines)
        assert taquin("send", *there, "--json", stdin=lines) == said
        assert said[0] == 1
        assert json.loads(said[1].splitlines()[1])["problems"][0] == {
            "problem": "bad_request", "where": "line 2", "message": "the line is not JSON: Expecting value",
        }  # fmt: skip


def test_without_wait_only_the_id_is_printed(taquin):
    status, out, err = taquin("submit", "-", stdin="[[2,1],[3,0]]")
    assert (status, err) == (0, "")
    status, out, _ = taquin("job", out.strip(), "--watch", "--json")
    shown = json.loads(out)
    assert (status, shown["state"], shown["unsolvable"], shown["kind"], shown["shape"]) == (
        1, "complete", 1, "validate", "2x2",
    )  # fmt: skip


def test_json_is_one_object(taquin):
    status, out, err = taquin("submit", "-", "--wait", "--json", stdin="[[1,2],[3,0]]")
    shown = json.loads(out)
    assert (status, shown["state"], shown["solvable"]) == (0, "complete", 1)
    assert err.startswith("complete: 1 boards at ")


def test_a_key_on_the_command_line(taquin):
    first = taquin("submit", "-", "--key", "order-1", stdin="[[1,2],[3,0]]")
    assert first[:2] == (0, "key-order-1\n")
    assert taquin("submit", "-", "--key", "order-1", stdin="[[1,2],[3,0]]") == first
    status, out, err = taquin("submit", "-", "--key", "order-1", stdin="[[2,1],[3,0]]")
    assert (status, out) == (2, "")
    assert err == (
        "taquin: job key-order-1 was already submitted with another request or other boards: use a new key\n"
    )


def test_a_submission_that_was_killed_is_taken_up_where_it_ended(taquin, client):
    boards = shuffled(600, 3, 3, seed=4)
    lines = [line + "\n" for line in lines_of(boards, 3, 3)]
    options = ["submit", "-", "--key", "killed", "--chunk", "10"]
    command = [sys.executable, "-m", "taquin", *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as submitter:
        submitter.stdin.writelines(lines[:305])
        submitter.stdin.flush()
        deadline = time.monotonic() + 60
        while not any(job.id == "key-killed" and now.boards == 300 for job, now in client.jobs()):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        submitter.kill()
        submitter.communicate()
    assert client.job("key-killed").progress().state == "open"
    status, out, _ = taquin(*options, "--wait", "--json", stdin="".join(lines))
    shown = json.loads(out)
    assert (status, shown["state"], shown["boards"]) == (1, "complete", 600)
    assert shown["solvable"] == solvable(boards, 3, 3).sum() == 600 - shown["unsolvable"]
    completed = [event for event in client.look(timeout=0.1) if event.fields.get("job") == "key-killed"]
    assert [event.name for event in completed] == ["job.completed"]


def test_results_in_every_form_say_the_same(taquin, tmp_path):
    boards = shuffled(300, 3, 3, seed=2)
    boards[4] = 1
    lines = lines_of(boards, 3, 3)
    lines[9] = "nonsense"
    id = taquin("submit", "-", "--kind", "repair", "--chunk", 100, stdin="\n".join(lines))[1].strip()
    told = [json.loads(line) for line in taquin("results", id)[1].splitlines()]
    for ending in ("jsonl", "csv", "npy"):
        assert taquin("results", id, "--out", tmp_path / f"r.{ending}")[0] == 0
    assert [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()] == told
    with (tmp_path / "r.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row, answer in zip(rows, told, strict=True):
        text = "/".join(" ".join(map(str, cells)) for cells in answer["board"] or [])
        assert row == {
            "index": str(answer["index"]), "status": answer["status"],
            "problems": " ".join(answer["problems"]), "board": text,
        }  # fmt: skip
    array = np.load(tmp_path / "r.npy")
    assert array.dtype == np.dtype([("status", "u1"), ("board", "u1", (3, 3))])
    for row, answer in zip(array, told, strict=True):
        assert answer["status"] == (STATUSES[row["status"]] if row["status"] < 128 else "invalid")
        assert row["board"].tolist() == (answer["board"] or np.zeros((3, 3)).tolist())
    assert [answer["index"] for answer in told if answer["status"] == "invalid"] == [4, 9]
    # What was repaired may be submitted again as it is.
    assert "2 invalid" in taquin("submit", tmp_path / "r.npy", "--wait")[2]


def test_results_of_a_job_that_only_validates(taquin, tmp_path):
    id = taquin("submit", "-", stdin="[[1,2],[3,0]]\n[[2,1],[3,0]]")[1].strip()
    assert taquin("results", id)[1] == (
        '{"index":0,"status":"solvable","problems":[],"board":null}\n'
        '{"index":1,"status":"unsolvable","problems":[],"board":null}\n'
    )
    taquin("results", id, "--out", tmp_path / "r.npy")
    assert np.load(tmp_path / "r.npy")["status"].tolist() == [0, 1]


def test_a_file_of_results_is_whole_or_not_there(taquin, tmp_path, monkeypatch):
    from taquin.client.job import Job

    id = taquin("submit", "-", "--chunk", 1, stdin="[[1,2],[3,0]]\n[[2,1],[3,0]]")[1].strip()
    file = tmp_path / "r.jsonl"
    file.write_text("what was there before")
    chunks = Job.results

    def breaks_off(self):
        yield next(chunks(self))
        raise Unavailable("Redis is gone")

    with monkeypatch.context() as broken:
        broken.setattr(Job, "results", breaks_off)
        assert taquin("results", id, "--out", file) == (3, "", "taquin: Redis is gone\n")
    assert [path.name for path in tmp_path.iterdir()] == ["r.jsonl"]
    assert file.read_text() == "what was there before"
    assert taquin("results", id, "--out", file)[0] == 0
    assert len(file.read_text().splitlines()) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["r.jsonl"]


@pytest.mark.parametrize("arguments", [[], ["--band", "easy"], ["--method", "walk", "--steps", "9"]])
def test_the_same_seed_makes_the_same_boards_here_and_by_workers(taquin, monkeypatch, tmp_path, arguments):
    command = ["generate", "4x4", 50, "--seed", 7, "--chunk", 20, *arguments]
    status, by_workers, err = taquin(*command)
    assert (status, err) == (0, "")
    taquin(*command, "--out", tmp_path / "w.npy")
    monkeypatch.delenv("TAQUIN_REDIS_URL")
    assert taquin(*command) == (0, by_workers, "")
    for ending in ("npy", "csv", "jsonl"):
        assert taquin(*command, "--out", tmp_path / f"h.{ending}")[0] == 0
    boards = np.array([json.loads(line) for line in by_workers.splitlines()])
    assert boards.shape == (50, 4, 4)
    assert solvable(boards, 4, 4).all()
    assert (np.load(tmp_path / "w.npy") == boards).all()
    assert (np.load(tmp_path / "h.npy") == boards).all()
    assert (tmp_path / "h.jsonl").read_text() == by_workers
    table = np.loadtxt(tmp_path / "h.csv", int, delimiter=",", skiprows=1)
    assert (table.reshape(50, 4, 4) == boards).all()
    assert taquin("check", "--json", "-", stdin=by_workers)[0] == 0


def test_generating_needs_no_redis_and_opens_none(taquin, monkeypatch):
    def fail(*_, **__):
        raise AssertionError("a connection was opened")

    monkeypatch.delenv("TAQUIN_REDIS_URL")
    monkeypatch.setattr("socket.socket.connect", fail)
    status, out, err = taquin("generate", "5x5", 3)
    assert (status, len(out.splitlines()), err) == (0, 3, "")


def test_a_pool_is_filled_and_claimed_from(taquin):
    status, out, err = taquin("generate", "2x4", 400, "--band", "hard", "--seed", 1, "--pool", "--wait")
    assert (status, len(out.split())) == (0, 1)
    assert " new in a pool" in err
    pools = {pool["name"]: pool for pool in map(json.loads, taquin("pools", "--json")[1].splitlines())}
    ready = pools["2x4:hard"]["ready"]
    status, out, _ = taquin("claim", "2x4", "--band", "hard")
    assert status == 0
    assert "returns to its pool in 60 s" in out
    assert "┌" in out
    status, out, _ = taquin("claim", "2x4", "--band", "hard", "--confirm", "--json")
    claimed = json.loads(out)
    assert (claimed["rows"], claimed["cols"], claimed["band"], claimed["confirmed"]) == (2, 4, "hard", True)
    assert solvable([claimed["board"]], 2, 4).all()
    status, out, _ = taquin("pools")
    (line,) = (line for line in out.splitlines() if line.startswith("2x4:hard"))
    assert line.split()[1:] == [str(ready - 2), "1", "-", "-", "no"]
    for verb, left in (("release", ready - 2), ("confirm", ready - 3)):
        claim = json.loads(taquin("claim", "2x4", "--band", "hard", "--json")[1])["claim"]
        assert taquin(verb, claim) == (0, "", "")
        (line,) = (line for line in taquin("pools")[1].splitlines() if line.startswith("2x4:hard"))
        assert line.split()[1] == str(left)
        status, out, err = taquin("release", claim)
        assert (status, out) == (2, "")
        assert claim in err
    assert taquin("claim", "2x4", "--band", "expert") == (1, "", "the pool of expert boards of 2x4 is empty\n")


def test_jobs_are_listed(taquin):
    id = taquin("submit", "-", "--wait", stdin="[[1,2],[3,0]]")[1].strip()
    status, out, err = taquin("jobs")
    assert (status, err) == (0, "")
    assert out.splitlines()[0].split()[:4] == ["job", "kind", "shape", "state"]
    (line,) = (line for line in out.splitlines() if line.startswith(id))
    assert line.split()[1:6] == ["validate", "2x2", "complete", "1", "1"]
    shown = [json.loads(line) for line in taquin("jobs", "--json")[1].splitlines()]
    assert next(job for job in shown if job["job"] == id)["solvable"] == 1


def test_a_script_can_read_what_was_asked(taquin):
    """The seed that was drawn, for the same boards again."""
    id = taquin("generate", "3x3", 5, "--pool", "--wait")[1].strip()
    shown = json.loads(taquin("job", id, "--json")[1])
    asked = shown["request"]
    assert (asked["kind"], asked["rows"], asked["cols"], asked["pool"]) == ("generate", 3, 3, True)
    assert f"seed {asked['seed']}, generator {asked['generator']}" in taquin("job", id)[1]
    assert shown in [json.loads(line) | {"rate": shown["rate"]} for line in taquin("jobs", "--json")[1].splitlines()]
    assert taquin("generate", "3x3", 5, "--seed", asked["seed"], "--pool", "--wait")[2].count("new in a pool") == 0


def test_boards_that_cannot_all_be_made_are_exit_1(taquin, tmp_path, monkeypatch):
    from taquin.client import Job
    from taquin.client.job import DEAD, ChunkReader

    monkeypatch.setattr(Job, "results", lambda self: iter([ChunkReader(self.request).without(0, 0, 5, DEAD)]))
    status, out, err = taquin("generate", "3x3", 5, "--out", tmp_path / "b.csv")
    assert (status, out) == (1, "")
    assert re.fullmatch(r"taquin: job \w+ could not make all boards: .*\n", err)
    assert list(tmp_path.iterdir()) == []


def test_waiting_without_a_worker_says_so_once(taquin, alone, monkeypatch, live_redis):
    from taquin import Client, Settings
    from taquin.cli import waiting

    del alone
    monkeypatch.setattr(waiting, "PATIENCE", 0.1)
    for command in ("results", "job"):
        id = taquin("submit", "-", stdin="[[1,2],[3,0]]")[1].strip()
        with Client(settings=Settings(redis_url=live_redis.url, key_prefix="alone:")) as client:
            end = Timer(1.0, client.job(id).cancel)
            end.start()
            err = taquin(command, id, *(["--watch"] if command == "job" else []))[2]
            end.join()
        assert err == "no worker seems to serve the queue bulk: start one by `taquin worker`; waiting for it\n"


def test_cancel(taquin, alone):
    id = taquin("submit", "-", stdin="[[1,2],[3,0]]")[1].strip()
    status, out, _ = taquin("job", id, "--cancel")
    assert (status, out.splitlines()[0]) == (0, "cancelled: 0 of 1 boards at 0/s: none done yet")
    assert alone.keys("alone:work:*") == []
    assert taquin("results", id)[1] == '{"index":0,"status":"cancelled","problems":[],"board":null}\n'
    assert taquin("job", id, "--watch")[0] == 1
    assert "job.cancelled" in taquin("events")[1]


def test_events_are_shown_and_read(taquin, alone):
    del alone
    id = taquin("submit", "-", stdin="[[1,2],[3,0]]")[1].strip()
    taquin("job", id, "--cancel")
    for _ in range(2):
        (line,) = taquin("events")[1].splitlines()
        assert f"job.cancelled  job {id}" in line
    (line,) = taquin("events", "--group", "app", "--json")[1].splitlines()
    assert {key: value for key, value in json.loads(line).items() if key != "id"} == {
        "event": "job.cancelled", "job": id,
    }  # fmt: skip
    assert taquin("events", "--group", "app", "--consumer", "two") == (0, "", "")


def test_following_events_goes_on_until_it_is_interrupted(taquin, alone, monkeypatch):
    from taquin.client import Client

    del alone
    id = taquin("submit", "-", stdin="[[1,2],[3,0]]")[1].strip()
    taquin("job", id, "--cancel")
    look = Client.look

    def interrupted(self, *, timeout=None):
        assert timeout is None
        yield next(look(self, timeout=timeout))
        raise KeyboardInterrupt

    monkeypatch.setattr(Client, "look", interrupted)
    status, out, _ = taquin("events", "--follow")
    assert status == 130
    assert id in out


@contextmanager
def nothing_left(redis):
    yield
    assert [key for key in redis.keys("alone:*") if key != b"alone:queues"] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["submit", "/nowhere"], "/nowhere cannot be read: No such file"),
        (["submit", "/nowhere.npy"], "/nowhere.npy cannot be read: No such file"),
        (["submit", "EMPTY"], "empty holds no board"),
        (["submit", "PICTURE"], "picture is no text"),
        (["submit", "PICTURE.npy"], "picture.npy is no array that can be read"),
        (["submit", "FLOATS.npy"], "whole numbers, not of float64"),
        (["submit", "FLAT.npy"], "needs their shape: say it, such as --shape 3x3, in Python shape=(3, 3)"),
        (["submit", "TEXT.npy"], "boards come as an array of whole numbers, not of text (<U7)"),
        (
            ["submit", "FLAT.npy", "--shape", "3x3"],
            "boards of 3x3 come as an array of (n, 9) or (n, 3, 3), not (5, 16)",
        ),
        (["submit", "/dev/zero"], "/dev/zero:1 is longer than 2,000,000 characters"),
        (["submit", "LATE"], "late is no text"),
        (["submit", "GOOD", "--shape", "0x4"], "not 0 and 4"),
        (["submit", "GOOD", "--shape", "4x"], "4x"),
        (["submit", "GOOD", "--shape", "9999x9999"], "too many"),
        (["submit", "GOOD", "--goal", "home"], "--goal: 'home' is neither"),
        (["submit", "GOOD", "--kind", "repair", "--swap", "first"], "--swap: 'first' is no list of tiles"),
        (["submit", "GOOD", "--kind", "repair", "--swap", "1,9"], "9"),
        (["submit", "GOOD", "--kind", "repair", "--pinned", "a"], "--pinned: 'a' is no list of tiles"),
        (["submit", "GOOD", "--pool"], "--pool goes with --kind repair"),
        (["submit", "GOOD", "--key", "a b"], "a key is 1 to 200 printable characters"),
        (["generate", "4x", "5"], "4x"),
        (["generate", "0x4", "5"], "not 0 and 4"),
        (["generate", "9999x9999", "5"], "too many"),
        (["generate", "4x4", "-5"], "count is a whole number from 1 to 1,000,000,000,000, not -5"),
        (["generate", "4x4", "0"], "not 0"),
        (["generate", "4x4", "5", "--band", "cruel"], "'easy', 'medium', 'hard' or 'expert', not 'cruel'"),
        (["generate", "4x4", "5", "--band", "easy", "--method", "walk"], "--method goes with boards of any band"),
        (["generate", "4x4", "5", "--steps", "3"], "--steps goes with --method walk"),
        (["generate", "4x4", "5", "--seed", "-1"], "a seed is a whole number"),
        (["generate", "4x4", "5", "--pool", "--out", "x.npy"], "--pool and --out"),
        (["generate", "4x4", "5", "--out", "boards.xml"], "--out: boards.xml ends with none of .jsonl"),
        (["generate", "4x4", "5", "--wait"], "--wait goes with --pool"),
        (["generate", "4x4", "5", "--out", "GOOD/boards.npy"], "--out: good/boards.npy cannot be written"),
        (["generate", "4x4", "5", "--out", "/nowhere/boards.npy"], "--out: /nowhere/boards.npy cannot be written"),
        (["job", "never"], "there is no job never: it was never submitted, or it has expired"),
        (["job", "never", "--cancel"], "there is no job never"),
        (["results", "never"], "there is no job never"),
        (["results", "never", "--out", "/nowhere/r.npy"], "--out: /nowhere/r.npy cannot be written"),
        (["results", "never", "--out", "r.xml"], "--out: r.xml ends with none of"),
        (["claim", "4x", "--band", "easy"], "4x"),
        (["claim", "4x4", "--band", "cruel"], "there is no band 'cruel'"),
        (["claim", "4x4", "--band", "easy", "--lease", "0"], "a lease takes more than 0 seconds"),
        (["events", "--consumer", "one"], "--consumer is one of a group"),
    ],
)
def test_bad_input_is_one_line_and_exit_2_and_leaves_nothing(taquin, alone, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    Path("empty").touch()
    Path("picture").write_bytes(b"\x89PNG\r\n\x1a\n")
    Path("picture.npy").write_bytes(b"\x89PNG\r\n\x1a\n")
    Path("good").write_text("[[1,2],[3,0]]")
    Path("late").write_bytes(b"[[1,2],[3,0]]\n" * 50_000 + b"\xff")
    np.save("floats.npy", np.zeros((3, 2, 2)))
    np.save("flat.npy", np.zeros((5, 16), int))
    np.save("text.npy", np.array(["1 2/3 0"]))
    before = sorted(Path().iterdir())
    with nothing_left(alone):
        status, out, err = taquin(*[re.sub("^[A-Z]{2,}", lambda name: name[0].lower(), each) for each in arguments])
    assert (status, out) == (2, "")
    assert err.startswith("taquin: ")
    assert message in err
    assert err.count("\n") == 1
    assert sorted(Path().iterdir()) == before


def test_progress_is_on_standard_error_alone(taquin, monkeypatch, tmp_path):
    """A terminal shows the bars; what is printed can be piped all the same."""
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TTY_INTERACTIVE", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    file = tmp_path / "b.jsonl"
    file.write_text("\n".join(lines_of(shuffled(3_000, 3, 3), 3, 3)))
    status, out, err = taquin("submit", file, "--kind", "repair", "--wait")
    assert status == 0
    assert out.strip().isalnum()
    for word in ("Submitted", "Answered", "3,000/3,000", "/s"):
        assert word in err
    assert "\x1b[3" not in err  # colours
    assert "Written" in taquin("results", out.strip(), "--out", tmp_path / "r.csv")[2]
    status, out, err = taquin("generate", "3x3", 5)
    assert "Generated" in err
    assert len(out.splitlines()) == 5
    assert "\x1b" not in out
