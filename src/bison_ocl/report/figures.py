"""Figures from records: accuracy curves and the interplay graph (paper, Fig. 1 and A1)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

from bison_ocl.errors import UserError
from bison_ocl.report.tables import Row

mpl.use("Agg")  # files only: no window, no display needed

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

MARKERS = "osD^vPX*<>hp"


def curves(rows: Sequence[Row], path: Path) -> None:
    """Average accuracy after each task, with a band of one standard deviation."""
    figure, axes = plt.subplots(figsize=(5.2, 3.6), layout="constrained")
    for row, marker in zip(rows, MARKERS * len(rows), strict=False):
        tasks = range(1, len(row.curve) + 1)
        mean = [100 * point.mean for point in row.curve]
        std = [100 * (point.std or 0) for point in row.curve]
        (line,) = axes.plot(tasks, mean, marker=marker, markersize=5, label=row.method)
        low = [m - s for m, s in zip(mean, std, strict=True)]
        high = [m + s for m, s in zip(mean, std, strict=True)]
        axes.fill_between(tasks, low, high, alpha=0.15, color=line.get_color(), linewidth=0)
    axes.set(
        xlabel="tasks learned", ylabel="average accuracy (%)", title=title(rows), ylim=(0, 102)
    )
    axes.set_xticks(range(1, len(rows[0].curve) + 1))
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    save(figure, path)


def interplay(rows: Sequence[Row], path: Path) -> None:
    """Forgetting against intransigence, coloured by accuracy: bottom left is best."""
    shown = [row for row in rows if row.AI is not None]
    figure, axes = plt.subplots(figsize=(5.2, 3.9), layout="constrained")
    x = [row.AI.mean for row in shown if row.AI is not None]
    y = [row.AF.mean for row in shown]
    color = [100 * row.AA.mean for row in shown]
    points = axes.scatter(
        x, y, c=color, s=120, cmap="viridis_r", edgecolor="black", linewidth=0.6, zorder=3
    )
    for row, left, low in zip(shown, x, y, strict=True):
        axes.annotate(row.method, (left, low), xytext=(8, 6), textcoords="offset points")
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.axvline(0, color="grey", linewidth=0.8)
    axes.margins(0.2)
    axes.set(xlabel="AI, intransigence (lower: more plastic)", title=title(shown))
    axes.set_ylabel("AF, forgetting (lower: more stable)")
    axes.grid(alpha=0.25)
    figure.colorbar(points, label="AA (%)")
    save(figure, path)


def title(rows: Sequence[Row]) -> str:
    memory = max(row.memory for row in rows)
    return f"{rows[0].data}, memory {memory}, n = {rows[0].AA.n}"


def save(figure: Figure, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=160)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        plt.close(figure)
