/* Time and memory. */

function timeView() {
  const rows = shown().filter((row) => row.costs.total_s);
  const names = rows.map((row) => plain(nameOf(row)));
  const part = (key, name, extra) => ({
    type: "bar",
    orientation: "h",
    name,
    y: names,
    x: rows.map((row) => row.costs[key]?.[0]),
    hovertemplate: `%{y}<br>${name} %{x:.3~s} s<extra></extra>`,
    ...extra,
  });
  const colours = rows.map((row) => colourOf(row));
  const traces = [
    part("train_s", "training", { marker: { color: colours } }),
    part("test_s", "testing", { marker: { color: colours, opacity: 0.45 } }),
  ];
  const machines = unique(
    rows.flatMap((row) => row.runs.map((run) => DATA.origins[run.origin].device ?? "unknown machine")),
  );
  const layout = {
    barmode: "stack",
    height: 110 + 28 * rows.length,
    xaxis: { title: { text: "seconds a run" } },
    yaxis: { autorange: "reversed", showgrid: false },
    showlegend: false,
    margin: { l: 55, r: 15, t: 10, b: 45 },
  };
  const reference = (row) =>
    rows.find((other) => other.method === "er" && other.memory === row.memory && !Object.keys(other.variant).length)
      ?.costs.total_s[0];
  const ratio = (row) => (reference(row) ? row.costs.total_s[0] / reference(row) : null);
  const column = (key, title) =>
    numberColumn(
      key,
      title,
      (row) => row.costs[key]?.[0],
      (value, row) => (value == null ? "–" : measured(row.costs[key])),
    );
  const there = COSTS.filter(({ name }) => rows.some((row) => row.costs[name])).map(({ name, title }) =>
    column(name, title),
  );
  const columns = [methodColumn(), numberColumn("ratio", "× ER", ratio, (value) => value?.toFixed(2) ?? "–"), ...there];
  const doubt = machines.length > 1 ? " Times from different machines do not compare." : "";
  return [
    heading("Time and memory", `Measured on ${machines.join("; ")}.${doubt}`),
    chart(
      `Seconds a run of ${rows.length} rows, ${where()}`,
      "Solid: training. Pale: testing after each task.",
      traces,
      layout,
    ),
    table(`Time and memory, ${where()}: mean ± standard deviation over runs`, columns, rows),
  ];
}
