/* Accuracy over tasks. */

const BANDS = 5; // with more curves than this, bands hide each other

function curvesView() {
  const rows = shown().filter((row) => row.curve);
  const bands = rows.length <= BANDS;
  const traces = rows.flatMap((row) => {
    const tasks = row.curve.map((_, place) => place + 1),
      name = plain(nameOf(row)),
      look = looks(row);
    const line = {
      type: "scatter",
      mode: "lines+markers",
      name,
      legendgroup: name,
      x: tasks,
      y: row.curve.map(([mean]) => mean),
      ...look,
      text: row.curve.map(spread),
      hovertemplate: `${name}, task %{x}<br>%{text} %<extra></extra>`,
    };
    const edge = (sign) => row.curve.map(([mean, std]) => mean + sign * (std ?? 0));
    const band = {
      type: "scatter",
      mode: "none",
      fill: "toself",
      fillcolor: faint(look.line.color),
      legendgroup: name,
      showlegend: false,
      hoverinfo: "skip",
      x: [...tasks, ...[...tasks].reverse()],
      y: [...edge(1), ...edge(-1).reverse()],
    };
    return bands ? [band, line] : [line];
  });
  const label = `Average accuracy after each task of ${rows.length} rows, ${where()}`;
  const caption = `Average accuracy over the tasks seen so far, mean over runs.${bands ? " Bands: one standard deviation." : ` With ${BANDS} methods or fewer, bands show one standard deviation.`}`;
  const most = Math.max(0, ...rows.map((row) => row.curve.length));
  const steps = Array.from({ length: most }, (_, place) =>
    numberColumn(
      `task-${place + 1}`,
      String(place + 1),
      (row) => row.curve[place]?.[0],
      (_, row) => spread(row.curve[place]),
    ),
  );
  const layout = {
    xaxis: { title: { text: "tasks learned" }, dtick: 1 },
    yaxis: { title: { text: "average accuracy (%)" }, rangemode: "tozero" },
    hovermode: "closest",
  };
  return [
    heading("Accuracy over tasks"),
    chart(label, caption, traces, layout),
    numbers(`${label}, in percent`, [methodColumn(), ...steps], rows),
  ];
}
