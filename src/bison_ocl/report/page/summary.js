/* Every metric of every row, beside the paper's. */

function summaryView() {
  const rows = shown();
  const metrics = metricsThere(rows);
  const columns = [methodColumn(), numberColumn("n", "runs", (row) => row.metrics.AA[2], String)];
  for (const name of metrics) columns.push(...metricColumns(name, rows));
  const caption = `${where()}: mean ± standard deviation over runs, in percent. Best in bold, runner-up underlined, FINE-TUNE aside.`;
  return [
    heading("Summary"),
    table(caption, columns, rows),
    make("p", { class: "note legend" }, legendOfMetrics(metrics, rows)),
  ];
}
