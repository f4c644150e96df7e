/* Every run in a line. */

function runsView() {
  const rows = itemNow().rows;
  const lines = shown().flatMap((row) => row.runs.map((run) => ({ row, run })));
  const origin = (line) => DATA.origins[line.run.origin];
  const there = RUN_METRICS.filter((_, place) => lines.some(({ run }) => run.metrics[place] != null));
  const open = (line) =>
    make(
      "button",
      {
        type: "button",
        id: `open-${rows.indexOf(line.row)}.${line.run.seed}`,
        "aria-haspopup": "dialog",
        onclick: () => update({ run: `${rows.indexOf(line.row)}.${line.run.seed}` }),
      },
      "Open",
      make("span", { class: "unseen" }, ` ${nameOf(line.row)}, seed ${line.run.seed}`),
    );
  const columns = [
    { ...methodColumn(), value: (line) => nameOf(line.row), show: (line) => [swatch(line.row), nameOf(line.row)] },
    numberColumn("seed", "seed", ({ run }) => run.seed, String),
    ...there.map((name) =>
      numberColumn(
        name,
        METRICS[name].title,
        ({ run }) => run.metrics[RUN_METRICS.indexOf(name)],
        (value) => fixed(value),
      ),
    ),
    numberColumn("total_s", "seconds", ({ run }) => run.costs[0], seconds),
    {
      key: "device",
      title: "machine",
      value: (line) => origin(line).device,
      show: (line) => written(origin(line).device),
    },
    {
      key: "commit",
      title: "commit",
      value: (line) => origin(line).commit,
      show: (line) => short(origin(line).commit),
    },
    { key: "open", title: "details", show: open },
  ];
  return [
    heading("Runs", "Open a run to see its settings, its accuracies and where it was made."),
    table(`${lines.length} runs, ${where()}`, columns, lines),
  ];
}

const short = (commit) => (commit ? commit.replace(/^([0-9a-f]{8})[0-9a-f]*/, "$1") : "–");
