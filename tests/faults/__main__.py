"""Make every attack in full and write docs/RELIABILITY.md: `make faults`."""

from __future__ import annotations

import datetime
import os
import platform
import sys
import time
from pathlib import Path

import torch

from bison_ocl.experiments.records.commit import commit
from bison_ocl.processor import cpu_name
from tests.faults.attacks import ATTACKS
from tests.faults.outcome import Outcome

PAGE = Path(__file__).parents[2] / "docs" / "RELIABILITY.md"
TEXT = """# Reliability

Written by `make faults` on {date}: {machine}, {cores} cores, torch {torch}, Python {python},
commit {commit}; {minutes:.0f} minutes. `make test` makes the same attacks, a few of each
([tests/faults](../tests/faults)).

| attack | made | outcome | worst, processor s | memory, MB |
|---|---:|---|---:|---:|
{rows}

- **SIGKILL**: a run, or a group of two seeds on a CPU, is killed at random moments, up to six
  times, and resumed until it is finished. Bit-equal: its records and models are those of an
  undisturbed run, each there once.
- **Mutations**: bits flipped, bytes replaced, cut out, doubled or appended, files cut off;
  *forged*: contents that no version writes, under a checksum that fits. Each copy is read with at
  most a gigabyte of memory and five seconds of the processor, and no code may run. Other values:
  the format has no checksum, and the copy is a good file with other contents.
- **Disk**: each call of a run that changes the disk fails in turn. *Stopped, kept*: the run ended
  in one line, and resumed it was bit-equal; *bit-equal*: it did not need the call.
- **Threads**: eight of them observe, predict, save and load for a minute. All that was observed was
  learned, once.

{verdict}
"""


def row(name: str, unit: str, outcome: Outcome) -> str:
    """A line of the table."""
    told = ", ".join(f"{n:,} {verdict}" for verdict, n in outcome.verdicts.most_common())
    seconds = f"{outcome.seconds:.2f}" if outcome.seconds else ""
    megabytes = f"{outcome.megabytes:.0f}" if outcome.seconds else ""
    return f"| {name} | {outcome.made:,} {unit} | {told} | {seconds} | {megabytes} |"


def main() -> None:
    torch.set_num_threads(1)
    begun, rows, faults = time.monotonic(), [], []
    for name, planned in ATTACKS.items():
        print(f"{name} ...", flush=True)
        outcome = planned.attack(planned.full, 0)
        rows.append(row(name, planned.unit, outcome))
        faults += [f"{name}: {verdict}: {why}" for verdict, why in outcome.faults.items()]
        print(rows[-1], flush=True)
    listed = "\n".join(f"- {fault}" for fault in faults)
    PAGE.write_text(
        TEXT.format(
            date=datetime.date.today().isoformat(),
            machine=cpu_name(),
            cores=os.cpu_count(),
            torch=torch.__version__,
            python=platform.python_version(),
            commit=commit(),
            minutes=(time.monotonic() - begun) / 60,
            rows="\n".join(rows),
            verdict=f"Faults:\n\n{listed}" if faults else "No fault was found.",
        )
    )
    if faults:
        sys.exit(listed)


if __name__ == "__main__":
    main()
