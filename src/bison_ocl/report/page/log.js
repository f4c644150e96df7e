/* What methods report of themselves at the end of each task. */

function logView() {
  const rows = shown().filter((row) => row.log);
  const names = unique(rows.flatMap((row) => Object.keys(row.log)));
  const symbol = { alpha: "α", eta_stream: "η stream", eta_buffer: "η buffer", eta: "η" };
  const figures = names.map((name) => {
    const traces = rows
      .filter((row) => row.log[name])
      .map((row) => {
        return {
          type: "scatter",
          mode: "lines+markers",
          name: plain(nameOf(row)),
          x: row.log[name].map((_, task) => task + 1),
          y: row.log[name],
          ...looks(row),
          hovertemplate: `${plain(nameOf(row))}, task %{x}<br>%{y:.3f}<extra></extra>`,
        };
      });
    return chart(`${symbol[name] ?? name} after each task, ${where()}`, null, traces, {
      xaxis: { title: { text: "tasks learned" }, dtick: 1 },
      yaxis: { title: { text: plain(symbol[name] ?? name) } },
      showlegend: rows.length > 1,
    });
  });
  const lines = rows.flatMap((row) => names.filter((name) => row.log[name]).map((name) => ({ ...row, logged: name })));
  const tasks = Math.max(0, ...lines.map((line) => line.log[line.logged].length));
  const columns = [
    methodColumn(),
    { key: "logged", title: "of", value: (line) => line.logged, show: (line) => symbol[line.logged] ?? line.logged },
  ];
  for (let task = 0; task < tasks; task += 1)
    columns.push(
      numberColumn(
        `task-${task + 1}`,
        String(task + 1),
        (line) => line.log[line.logged][task],
        (value) => value?.toFixed(3) ?? "–",
      ),
    );
  return [
    heading("α and η", "What a method's own scalars are at the end of each task, mean over runs."),
    make("div", { class: "grid" }, figures),
    numbers(`α and η after each task, ${where()}`, columns, lines),
  ];
}
