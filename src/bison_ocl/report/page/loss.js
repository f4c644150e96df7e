/* Training loss. */

function lossView() {
  const rows = shown().filter((row) => row.losses);
  const traces = rows.map((row) => {
    return {
      type: "scatter",
      mode: "lines",
      name: plain(nameOf(row)),
      x: row.losses.steps,
      y: row.losses.loss,
      line: looks(row).line,
      hovertemplate: `${plain(nameOf(row))}, step %{x}<br>%{y:.3f}<extra></extra>`,
    };
  });
  return [
    heading(
      "Training loss",
      "Mean over runs. Losses of different methods are different functions: compare shapes, not levels.",
    ),
    chart(`Training loss of ${rows.length} rows, ${where()}`, null, traces, {
      xaxis: { title: { text: "step" } },
      yaxis: { title: { text: "loss" } },
    }),
  ];
}
