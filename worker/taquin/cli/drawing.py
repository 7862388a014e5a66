"""How boards and answers look to a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich import box
from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Collection

    from taquin.messages import Answer

FRAMED_MOST: Final = 12
"""Columns up to which a board is drawn with lines between its cells."""
DRAWN_MOST: Final = 64
"""Rows or columns up to which a board is drawn at all."""
SHOWN: Final = 6
"""Items of a list, or characters of a cell, that are shown of what is no board."""
HUGE: Final = 10**9
WIDEST: Final = 1_000
"""Characters of the widest table."""
STYLES: Final = {"solvable": "green", "repaired": "cyan", "unsolvable": "red", "invalid": "yellow"}


def out() -> Console:
    """Return the console of results: standard output, coloured on a terminal unless NO_COLOR is set."""
    return Console(highlight=False)


def err() -> Console:
    """Return the console of progress and notes: standard error."""
    return Console(stderr=True, highlight=False)


def boards_bar(console: Console) -> Progress:
    """Return a progress bar of boards, with rate and time left; it shows on a terminal only."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        _Boards(),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        console=console,
        disable=not console.is_terminal,
        # Else what is written to standard output would come out at the console.
        redirect_stdout=False,
        redirect_stderr=False,
    )


def show_table(table: Table) -> None:
    """Print a table with a line a row on standard output, however narrow the terminal is."""
    Console(highlight=False, width=WIDEST).print(table)


class _Boards(ProgressColumn):
    """How many boards, of how many, and how many a second."""

    def render(self, task: Task) -> Text:
        """Draw it."""
        of = f"/{task.total:,.0f}" if task.total else ""
        rate = task.finished_speed or task.speed
        return Text(f"{task.completed:,.0f}{of}" + (f" · {rate:,.0f}/s" if rate else ""))


def grid(board: Any, marked: Collection[tuple[int, int]] = ()) -> RenderableType:
    """Draw a board; the marked cells stand in brackets, so that they show without colour too."""
    if not _is_grid(board):
        return Text(_short(board))
    width = _cell_width(board)
    framed = len(board[0]) <= FRAMED_MOST
    table = Table(box=box.SQUARE if framed else None, show_header=False, show_lines=framed, padding=0, pad_edge=False)
    for _ in board[0]:
        table.add_column(no_wrap=True, min_width=width + 2)
    for r, row in enumerate(board):
        table.add_row(*(_cell(cell, width, (r, c) in marked) for c, cell in enumerate(row)))
    return table


def grid_width(board: list[list[int]]) -> int:
    """Return the characters that a board with frames takes from left to right."""
    return len(board[0]) * (_cell_width(board) + 3) + 1


def status(answer: Answer) -> Text:
    """Return the status in its colour."""
    return Text(answer.status, style=f"bold {STYLES[answer.status]}")


def reasons(answer: Answer) -> str:
    """Return the evidence's sentence, then what is wrong, a line each."""
    lines = [answer.evidence.sentence] if answer.evidence else []
    if answer.swap:
        lines.append(f"Swapped {answer.swap.tiles[0]} and {answer.swap.tiles[1]}: solvable now.")
    lines += [f"{problem.where}: {problem.message} ({problem.problem})" for problem in answer.problems]
    return "\n".join(lines)


def answered(place: str, board: Any, answer: Answer) -> RenderableType:
    """Draw what came in, the verdict and its evidence, and the board to serve where it is another."""
    parts: list[RenderableType] = [Text.assemble((place, "dim"), " ", status(answer)), grid(board)]
    if answer.swap and answer.board:
        parts += [Text("repaired:"), grid(answer.board, answer.swap.cells)]
    return Group(*parts, Text(reasons(answer)), Text())


def _cell_width(board: list[list[Any]]) -> int:
    return max(len(str(cell)) for row in board for cell in row)


def _cell(cell: Any, width: int, marked: bool) -> Text:
    if cell == 0 and not isinstance(cell, bool):
        return Text(" " * (width + 2))
    text = str(cell).rjust(width)
    return Text(f"[{text}]", style="bold reverse") if marked else Text(f" {text} ")


def _is_grid(board: Any) -> bool:
    return (
        isinstance(board, list)
        and 0 < len(board) <= DRAWN_MOST
        and all(isinstance(row, list) and len(row) == len(board[0]) for row in board)
        and 0 < len(board[0]) <= DRAWN_MOST
        and all(_is_drawable(cell) for row in board for cell in row)
    )


def _is_drawable(cell: Any) -> bool:
    return (isinstance(cell, int) and abs(cell) < HUGE) or (isinstance(cell, str) and len(cell) <= SHOWN)


def _short(value: Any) -> str:
    """Enough to recognise it; a value of megabytes is never made into text whole."""
    if isinstance(value, list):
        inner = ", ".join(_short(item) for item in value[:SHOWN])
        return f"[{inner}{', …' if len(value) > SHOWN else ''}]"
    if isinstance(value, str):
        return value[:40]
    if isinstance(value, int) and abs(value) >= HUGE:
        return "a huge number"
    return repr(value)[:40]
