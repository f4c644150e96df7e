# %% [markdown]
"""
# Digits to figures in five minutes

Train three methods on the embedded handwritten digits, compare them, and draw figures for a paper.
Nothing is downloaded; two CPU cores are enough. The code calls commands of the terminal,
`bison-ocl ...`, from Python, so that the page runs as one script or notebook. It needs pandas:
`pip install 'bison-ocl[analysis]'`.
"""

# %%
import subprocess
import sys
from pathlib import Path

from bison_ocl import results

SEEDS = "0-2"
OUT = Path("digits")


def bison_ocl(*arguments: object) -> None:
    """Run `bison-ocl ...` as in a terminal."""
    subprocess.run([sys.executable, "-m", "bison_ocl", *map(str, arguments)], check=True)


# %% [markdown]
"""
## Train

The stream `split-digits` has five tasks of two digits each, and every image arrives once, in
batches of ten. The memory keeps 100 of them. FINE-TUNE has no memory: it shows forgetting, and
intransigence (AI) is measured against it.

`--resume` continues where an interrupted run stopped, and skips what is finished. Each finished
seed appends one line to `digits/results.jsonl`.
"""

# %%
for method in ("finetune", "er", "bison"):
    bison_ocl(
        *("run", method, "--data", "split-digits", "--memory", 100),
        *("--seeds", SEEDS, "--out", OUT, "--resume"),
    )

# %% [markdown]
"""
## Read the records

A record is one line of JSON: what ran, on which machine, and what came out.
[RECORDS.md](../RECORDS.md) describes every field. `results.load` makes a pandas table of one row
per run; `per="task"` and `per="class"` give more rows. AA is the average accuracy over all tasks
after the last one, AF forgetting, AI intransigence.
"""

# %%
runs = results.load(OUT)
print(runs.groupby("method")[["AA", "AF", "AI"]].agg(["mean", "std", "count"]).round(3))

# %% [markdown]
"""
BISON keeps most of what it has learned, experience replay less, FINE-TUNE only the last task. A run
has 140 steps, so methods that predict by a trained head vary by many points between seeds.
[DIGITS.md](../DIGITS.md) compares all methods on the same data.

## Draw

`report` writes tables (LaTeX, CSV), figures (PNG, SVG, PDF), RESULTS.md and one interactive page,
`report.html`, that opens without a network.
"""

# %%
bison_ocl("report", OUT, "--out", OUT / "report")

for file in sorted((OUT / "report").rglob("*.*")):
    print(file)

# %% [markdown]
"""
Next: the same commands on Split CIFAR-10 (`bison-ocl data fetch split-cifar10`), every table and
figure of the paper (`bison-ocl reproduce --list`), or [a method of your own](write_a_method.md).
"""
