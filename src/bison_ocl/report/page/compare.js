/* One metric: bars, or a line or a map over settings that vary. */

const metricChooser = () =>
  chooser(
    "metric",
    "Metric",
    metricsThere(rowsOfData()).map((name) => [name, METRICS[name].title]),
    state.metric,
    (metric) => update({ metric }),
  );

function compareView() {
  const rows = shown().filter((row) => row.metrics[state.metric]);
  const { title, what } = METRICS[state.metric];
  const keys = variedNumbers(rows);
  const draw = { 1: overSetting, 2: overTwoSettings }[keys.length] ?? bars;
  const label = `${title} of ${rows.length} rows, ${where()}`;
  const columns = [methodColumn(), ...metricColumns(state.metric, rows)];
  return [
    heading("Compare", `${title}: ${what}.`, metricChooser()),
    draw(label, rows, keys),
    numbers(label, columns, rows),
  ];
}

/** Settings that differ between rows, if all of them are numbers and one method varies them. */
function variedNumbers(rows) {
  const varied = rows.filter((row) => Object.keys(row.variant).length);
  const keys = unique(varied.flatMap((row) => Object.keys(row.variant)));
  const numeric = varied.every((row) => keys.every((key) => typeof row.variant[key] === "number"));
  const grid = keys.length < 2 || unique(varied.map((row) => `${row.method} ${row.memory}`)).length === 1;
  return numeric && grid && keys.length <= 2 ? keys : [];
}

function bars(label, rows) {
  const name = state.metric;
  const value = (pair) => (pair == null ? null : pair[0]);
  const names = rows.map((row) => plain(nameOf(row)));
  const traces = [
    {
      type: "bar",
      orientation: "h",
      name: "ours",
      y: names,
      x: rows.map((row) => value(row.metrics[name])),
      error_x: {
        type: "data",
        array: rows.map((row) => row.metrics[name][1] ?? 0),
        color: ink("quiet"),
        thickness: 1.2,
        width: 3,
      },
      marker: { color: rows.map((row) => colourOf(row)) },
      customdata: rows.map((row) => [spread(row.metrics[name]), row.metrics[name][2]]),
      hovertemplate: "%{y}<br>%{customdata[0]} %, %{customdata[1]} runs<extra></extra>",
    },
  ];
  if (rows.some((row) => row.paper?.[name])) {
    traces.push({
      type: "scatter",
      mode: "markers",
      name: "paper",
      y: names,
      x: rows.map((row) => value(row.paper?.[name])),
      marker: { symbol: "diamond", size: 9, color: ink("ground"), line: { color: ink("ink"), width: 1.5 } },
      hovertemplate: "%{y}<br>paper %{x:.1f} %<extra></extra>",
    });
  }
  const height = 110 + 28 * rows.length;
  const layout = {
    height,
    bargap: 0.35,
    showlegend: traces.length > 1,
    xaxis: { title: { text: `${METRICS[name].title} (%)` } },
    yaxis: { autorange: "reversed", showgrid: false },
  };
  return chart(
    label,
    `Bars: mean over runs, with one standard deviation.${traces.length > 1 ? " Diamonds: the paper's number, where it prints one." : ""}`,
    traces,
    layout,
  );
}

function overSetting(label, rows, [key]) {
  const varied = rows.filter((row) => key in row.variant);
  const lines = unique(varied.map((row) => `${row.method}\n${row.memory}`)).map((one) =>
    sorted(
      varied.filter((row) => `${row.method}\n${row.memory}` === one),
      (row) => row.variant[key],
      1,
    ),
  );
  const traces = lines.map((line) => {
    const look = looks(DATA.methods[line[0].method]);
    const found = line.map((row) => row.metrics[state.metric]);
    return {
      type: "scatter",
      mode: "lines+markers",
      name: plain(labelOf(line[0].method) + (state.memory === ALL ? ` · M = ${memoryName(line[0].memory)}` : "")),
      x: line.map((row) => row.variant[key]),
      y: found.map((pair) => pair[0]),
      error_y: { type: "data", array: found.map((pair) => pair[1] ?? 0), color: look.line.color, thickness: 1.2 },
      ...look,
      text: found.map(spread),
      hovertemplate: `${plain(key)} %{x}<br>%{text} %<extra></extra>`,
    };
  });
  const ticks = unique(varied.map((row) => row.variant[key])).sort((a, b) => a - b);
  const layout = {
    xaxis: { title: { text: plain(key) }, tickvals: ticks },
    yaxis: { title: { text: `${METRICS[state.metric].title} (%)` } },
  };
  return chart(label, `Mean over runs by ${key}, with one standard deviation.`, traces, layout);
}

function overTwoSettings(label, rows, [first, second]) {
  const varied = rows.filter((row) => first in row.variant);
  const side = (key) => unique(varied.map((row) => row.variant[key])).sort((a, b) => a - b);
  const [down, across] = [side(first), side(second)];
  const at = (y, x) => varied.find((row) => row.variant[first] === y && row.variant[second] === x);
  const cells = down.map((y) => across.map((x) => at(y, x)?.metrics[state.metric]));
  const trace = {
    type: "heatmap",
    x: across.map(String),
    y: down.map(String),
    z: cells.map((line) => line.map((pair) => (pair ? pair[0] : null))),
    text: cells.map((line) => line.map((pair) => (pair ? fixed(pair[0]) : ""))),
    texttemplate: "%{text}",
    customdata: cells.map((line) => line.map(spread)),
    hovertemplate: `${plain(first)} %{y}, ${plain(second)} %{x}<br>%{customdata} %<extra></extra>`,
    colorscale: scale(METRICS[state.metric].sign < 0),
    xgap: 2,
    ygap: 2,
    colorbar: { thickness: 12, outlinewidth: 0 },
  };
  const best = sorted(varied, (row) => row.metrics[state.metric][0], -METRICS[state.metric].sign)[0];
  const shapes = [outline(down.indexOf(best.variant[first]), across.indexOf(best.variant[second]), ink("ink"))];
  const axis = (text) => ({ title: { text: plain(text) }, type: "category", showgrid: false });
  return chart(
    label,
    `Mean over runs. The best cell (${first} ${best.variant[first]}, ${second} ${best.variant[second]}) is outlined.`,
    [trace],
    { shapes, xaxis: axis(second), yaxis: axis(first) },
  );
}

const outline = (y, x, color) => ({
  type: "rect",
  x0: x - 0.5,
  x1: x + 0.5,
  y0: y - 0.5,
  y1: y + 0.5,
  line: { color, width: 2 },
});

/** From the ground's colour to the accent; light values recede in either theme. */
function scale(reversed = false) {
  const ends = [ink("raised"), ink("accent")];
  return (reversed ? ends.reverse() : ends).map((colour, place) => [place, colour]);
}
