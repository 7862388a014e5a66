"""``taquin check``, ``repair`` and ``send``: boards from files."""

from __future__ import annotations

import json
from collections import Counter, deque
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from taquin.cli.reading import Entry, read_entries
from taquin.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from taquin.messages import Answer

IN_FLIGHT: Final = 200
"""Boards that `send` has on the way at the same time."""

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILE]...",
        help="Boards as text (rows by lines or /, cells by spaces or commas, blank as 0 _ . or x, an empty line "
        "between boards) or as JSON lines (nested lists, or request objects as on the queue); - is standard input.",
        show_default="-",
    ),
]
Goal = Annotated[
    str,
    typer.Option(help="blank-last, blank-first, snail, snake, or a board such as '1 2 3/8 0 4/7 6 5'."),
]
AsJson = Annotated[bool, typer.Option("--json", help="One answer a line as JSON, and nothing else.")]
SwapRule = Annotated[str, typer.Option(help="Which two tiles to swap: last, gentle, random, or tiles such as 14,15.")]
Pinned = Annotated[str, typer.Option(help="Tiles that stay where they are, such as 1,2,3.")]
SwapIfRepair = Annotated[
    str | None,
    typer.Option(
        help="With --kind repair, which two tiles to swap: last, gentle, random, or tiles such as 14,15.",
        show_default="last",
    ),
]
PinnedIfRepair = Annotated[
    str | None, typer.Option(help="With --kind repair, tiles that stay where they are, such as 1,2,3.")
]
MaxCells = Annotated[
    int,
    typer.Option(envvar="TAQUIN_MAX_CELLS", min=1, max=65_536, help="The largest board looked at, in cells."),
]


def check(files: Files = None, goal: Goal = "blank-last", as_json: AsJson = False, max_cells: MaxCells = 1024) -> None:
    """Say of each board whether it can be solved, and why. No queue is needed.

    Exit status: 0 all are solvable, 1 some are unsolvable or invalid, 2 wrong usage or input.
    """
    _answer_here("validate", read_entries(files or ["-"], {"goal": read_goal(goal)}), as_json, max_cells)


def repair(
    files: Files = None,
    goal: Goal = "blank-last",
    swap: SwapRule = "last",
    pinned: Pinned = "",
    as_json: AsJson = False,
    max_cells: MaxCells = 1024,
) -> None:
    """Mend each board that cannot be solved by swapping two of its tiles. No queue is needed.

    Exit status: 0 all are solvable now, 1 some are invalid or cannot be mended, 2 wrong usage or input.
    """
    defaults = {"goal": read_goal(goal), "swap": read_swap(swap), "pinned": read_tiles(pinned, "--pinned")}
    _answer_here("repair", read_entries(files or ["-"], defaults), as_json, max_cells)


def send(
    files: Files = None,
    kind: Annotated[Literal["validate", "repair"], typer.Option(help="What the workers shall do.")] = "repair",
    goal: Goal = "blank-last",
    swap: SwapIfRepair = None,
    pinned: PinnedIfRepair = None,
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds to wait for each answer.")] = 30.0,
    as_json: AsJson = False,
) -> None:
    """Send boards to the workers through the queue and print their answers, in the order of the boards.

    Redis is the one of TAQUIN_REDIS_URL.

    Exit status: 0 all are solvable, or are now; 1 some are not, or were given up; 2 wrong usage or input; 3 Redis does
    not answer or is full, or an answer did not come in time.
    """
    from taquin.client import Client, Handle  # noqa: PLC0415  Celery is imported only where a queue is used

    defaults = {"goal": read_goal(goal)} | read_repair(kind, swap, pinned)

    def answers(client: Client) -> Iterator[tuple[Entry, Answer]]:
        waiting: deque[tuple[Entry, Handle | None]] = deque()
        for entry in read_entries(files or ["-"], defaults):
            waiting.append((entry, None if entry.error else client.send(kind, entry.request)))
            if len(waiting) >= IN_FLIGHT:
                first, handle = waiting.popleft()
                yield first, handle.answer(timeout) if handle else _no_request(first)
        for entry, handle in waiting:
            yield entry, handle.answer(timeout) if handle else _no_request(entry)

    with Client() as client:
        _report(answers(client), as_json)


def _answer_here(kind: str, entries: Iterable[Entry], as_json: bool, max_cells: int) -> None:
    from taquin import service  # noqa: PLC0415  `taquin --help` needs no NumPy

    def answers() -> Iterator[tuple[Entry, Answer]]:
        for entry in entries:
            if entry.error:
                yield entry, _no_request(entry)
            else:
                yield entry, service.respond(kind, entry.request, max_cells=max_cells).answer

    _report(answers(), as_json)


def _no_request(entry: Entry) -> Answer:
    from taquin import service  # noqa: PLC0415

    return service.invalid(f"line {entry.line}", entry.error)


def _report(answers: Iterable[tuple[Entry, Answer]], as_json: bool) -> None:
    counts: Counter[str] = Counter()
    if as_json:
        for _, answer in answers:
            counts[answer.status] += 1
            typer.echo(answer.model_dump_json())
    else:
        _draw(answers, counts)
    if counts["unsolvable"] or counts["invalid"]:
        raise typer.Exit(1)


def _draw(answers: Iterable[tuple[Entry, Answer]], counts: Counter[str]) -> None:
    from taquin.cli import drawing  # noqa: PLC0415  rich takes its time to import, and --json needs none of it

    console = drawing.out()
    for entry, answer in answers:
        counts[answer.status] += 1
        board = entry.request.get("board") if isinstance(entry.request, dict) else None
        place = f"{entry.source}:{entry.line}"
        console.print(drawing.answered(place, board, answer), soft_wrap=True)
    if counts.total() > 1:
        console.print(", ".join(f"{count:,} {status}" for status, count in counts.items()))


def read_goal(text: str) -> Any:
    """Read --goal: a name, or a board as JSON or text."""
    if text in {"blank-last", "blank-first", "snail", "snake"}:
        return text
    if text.lstrip().startswith("["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise BadInput(f"--goal: {text[:60]!r} is not JSON") from None
    if not any(mark in text for mark in " /,\n"):
        raise BadInput(f"--goal: {text[:60]!r} is neither blank-last, blank-first, snail, snake, nor a board")
    from taquin.puzzle.text import parse_board  # noqa: PLC0415  rarely needed

    return parse_board(text)


def read_repair(kind: str, swap: str | None, pinned: str | None) -> dict[str, Any]:
    """Read what --swap and --pinned say of a repair; without --kind repair there is none to say it of."""
    for option, text in (("--swap", swap), ("--pinned", pinned)):
        if text is not None and kind != "repair":
            raise BadInput(f"{option} goes with --kind repair")
    given = {} if swap is None else {"swap": read_swap(swap)}
    return given if pinned is None else given | {"pinned": read_tiles(pinned, "--pinned")}


def read_swap(text: str) -> str | list[int]:
    """Read --swap: a rule's name, or two tiles."""
    return text if text in {"last", "gentle", "random"} else read_tiles(text, "--swap")


def read_tiles(text: str, option: str) -> list[int]:
    """Read a list of tiles."""
    try:
        return [int(tile) for tile in text.replace(",", " ").split()]
    except ValueError:
        raise BadInput(f"{option}: {text[:60]!r} is no list of tiles such as 14,15") from None
