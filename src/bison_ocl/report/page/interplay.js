/* Forgetting against intransigence. */

function interplayView() {
  const rows = shown().filter((row) => row.metrics.AI);
  const AF = state.af;
  const ours = rows.map((row) => [row.metrics.AI[0], row.metrics[AF][0]]);
  const paper = rows.map((row) => (row.paper?.AI && row.paper[AF] ? [row.paper.AI[0], row.paper[AF][0]] : null));
  const known = paper.filter(Boolean);
  const ranges = [0, 1].map((axis) => padded([...ours, ...known].map((point) => point[axis])));
  const traces = [...(known.length ? paperTraces(rows, ours, paper) : []), oursTrace(rows, ours, ranges)];
  const axis = (text, range) => ({ title: { text }, range, zerolinecolor: ink("quiet") });
  const layout = {
    height: 520,
    showlegend: known.length > 0,
    xaxis: axis("AI, intransigence (%): lower learns better", ranges[0]),
    yaxis: axis("AF, forgetting (%): lower remembers better", ranges[1]),
  };
  const choice = chooser(
    "af",
    "AF counted",
    [
      ["AF_table", "as in the tables"],
      ["AF", "by the text's formula"],
    ],
    AF,
    (af) => update({ af }),
  );
  const columns = [methodColumn(), ...["AA", AF, "AI"].flatMap((name) => metricColumns(name, rows))];
  const label = `Forgetting against intransigence of ${rows.length} rows, ${where()}`;
  const caption = `Colour: average accuracy. Thin lines: one standard deviation over runs.${known.length ? " Open diamonds: the paper." : ""}`;
  return [
    heading("Interplay of stability and plasticity", "The nearer the bottom left, the better the balance.", choice),
    chart(label, caption, traces, layout),
    numbers(label, columns, rows),
  ];
}

const xs = (points) => points.map((point) => point?.[0]);
const ys = (points) => points.map((point) => point?.[1]);

/** Named points, coloured by accuracy, with their deviations. */
function oursTrace(rows, points, ranges) {
  const names = rows.map((row) => plain(nameOf(row)));
  const narrow = byId("panel").clientWidth < 560;
  const [width, height] = [byId("panel").clientWidth - (narrow ? 70 : 150), 420];
  const share = (value, [low, high]) => (value - low) / (high - low);
  const pixels = points.map(([x, y]) => [width * share(x, ranges[0]), height * (1 - share(y, ranges[1]))]);
  const error = (name) => ({
    type: "data",
    array: rows.map((row) => row.metrics[name][1] ?? 0),
    color: ink("quiet"),
    thickness: 0.8,
    width: 0,
  });
  return {
    type: "scatter",
    name: "ours",
    mode: "markers+text",
    x: xs(points),
    y: ys(points),
    text: names,
    textposition: labelPlaces(pixels, names, width, height),
    textfont: { size: narrow ? 10 : 11.5 },
    error_x: error("AI"),
    error_y: error(state.af),
    customdata: rows.map((row) => ["AA", state.af, "AI"].map((name) => spread(row.metrics[name]))),
    hovertemplate: "%{text}<br>AA %{customdata[0]}<br>AF %{customdata[1]}<br>AI %{customdata[2]}<extra></extra>",
    marker: {
      size: 14,
      color: rows.map((row) => row.metrics.AA[0]),
      colorscale: "Viridis",
      reversescale: !isDark(),
      line: { color: ink("ink"), width: 0.8 },
      colorbar: {
        title: { text: "AA %" },
        thickness: 12,
        outlinewidth: 0,
        ...(narrow ? { orientation: "h", y: -0.16, yanchor: "top" } : {}),
      },
    },
  };
}

/** The paper's points, and lines that tie them to ours. */
function paperTraces(rows, ours, paper) {
  const pairs = ours.flatMap((point, place) => (paper[place] ? [point, paper[place], null] : []));
  const ties = {
    type: "scatter",
    mode: "lines",
    x: xs(pairs),
    y: ys(pairs),
    line: { color: ink("line"), width: 1.2 },
    hoverinfo: "skip",
    showlegend: false,
  };
  const points = {
    type: "scatter",
    name: "paper",
    mode: "markers",
    x: xs(paper),
    y: ys(paper),
    text: rows.map((row) => plain(nameOf(row))),
    hovertemplate: "%{text}, paper<br>AF %{y:.1f}<br>AI %{x:.1f}<extra></extra>",
    marker: { symbol: "diamond-open", size: 8, color: ink("quiet") },
  };
  return [ties, points];
}

/** The range of some values with room around them for labels. */
function padded(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = 0.1 * (high - low || 10);
  return [low - room, high + room];
}

const SIDES = {
  "top center": [0, -1],
  "middle right": [1, 0],
  "bottom center": [0, 1],
  "middle left": [-1, 0],
  "top right": [1, -1],
  "top left": [-1, -1],
  "bottom right": [1, 1],
  "bottom left": [-1, 1],
};

/** For each point, the side on which its name covers least; points and sizes in pixels. */
function labelPlaces(points, names, width, height) {
  const taken = points.map(([x, y]) => [x - 8, y - 8, x + 8, y + 8]);
  const covered = (a, b) =>
    Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0])) * Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));
  return points.map(([x, y], place) => {
    const half = [3.2 * names[place].length, 8];
    const boxes = Object.entries(SIDES).map(([side, [right, down]]) => {
      const [cx, cy] = [x + right * (half[0] + 8), y + down * (half[1] + (right ? 4 : 9))];
      return { side, box: [cx - half[0], cy - half[1], cx + half[0], cy + half[1]] };
    });
    const cost = ({ box }) =>
      taken.reduce((sum, other) => sum + covered(box, other), 0) +
      (box[0] < 0 || box[1] < 0 || box[2] > width || box[3] > height ? 500 : 0);
    const best = sorted(boxes, cost, 1)[0];
    taken.push(best.box);
    return best.side;
  });
}
