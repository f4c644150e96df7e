/* Charts: one routine draws any of the report's charts with Plotly, in the page's colours. */

/** A colour of the page's present theme, as Plotly takes it. */
function ink(name) {
  const probe = byId("panel");
  probe.style.color = `var(--${name})`;
  const found = getComputedStyle(probe).color;
  probe.style.color = "";
  return found;
}

const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

/** The colour of a look, lifted towards white where it would drown in the dark. */
function colourOf({ colour }, opacity = 1) {
  const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const light = (0.299 * parts[0] + 0.587 * parts[1] + 0.114 * parts[2]) / 255;
  const lift = isDark() ? 1.5 * Math.max(0, 0.6 - light) : 0;
  return `rgba(${parts.map((part) => Math.round(part + (255 - part) * lift)).join(", ")}, ${opacity})`;
}

/** Plotly is large, so it waits as text until the first chart, or until the page is idle. */
function plotly() {
  if (!window.Plotly) document.head.append(make("script", {}, byId("plotly").textContent));
  return window.Plotly;
}

let waiting = []; // charts that are drawn once they are on the page

/** A chart with its title, its notes and its numbers; nothing where all its methods are off. */
function chart(described) {
  const series = (described.series ?? []).filter(isOn);
  if (!isOn(described) || !(series.length || described.map)) return null;
  const label = `${described.title}: ${[described.y.label, described.x.label].filter(Boolean).join(" over ")}`;
  const place = described.map ? map(described) : make("div", { class: "chart", role: "img", "aria-label": label });
  if (!described.map) waiting.push(() => draw(place, described, series));
  return make(
    "figure",
    {},
    make("h3", {}, described.title),
    place,
    make("figcaption", {}, (described.notes ?? []).join(" ")),
    numbers(described, series),
  );
}

const FRAMES = { "largest error": "largest-error", best: "best-cell", "paper's choice": "paper-s-choice" };

function map({ x, y, map }) {
  const known = map.values.flat().filter((value) => value != null);
  const [low, high] = [map.label ? Math.min(...known) : 0, Math.max(...known)];
  const cellAt = (row, column) => {
    const value = map.values[row][column];
    const share = value == null ? 0 : (value - low) / (high - low || 1);
    const frame = (map.frames ?? []).find((one) => one.row === row && one.column === column && !one.size);
    const text = value?.toFixed(map.decimals ?? 1) ?? "";
    return { text, share: map.dark_is_high ? 1 - share : share, frame: frame && FRAMES[frame.kind] };
  };
  return shadedTable(`rows: ${y.label}; columns: ${x.label}`, "", x.names, y.names, cellAt);
}

/** The numbers of curves, as a table below them. */
function numbers({ x }, series) {
  const curves = series.filter((one) => !one.kind && one.told);
  const places = unique(curves.flatMap((one) => one.x));
  if (!curves.length || places.length > 25) return null;
  const columns = [{ title: "method" }, ...places.map((at) => ({ title: String(at) }))];
  const lines = curves.map((one) => ({ ...one, cells: places.map((at) => ({ text: one.told[one.x.indexOf(at)] })) }));
  return make("details", {}, make("summary", {}, "Numbers"), table({ caption: x.label, columns, lines, notes: [] }));
}

function draw(place, described, series) {
  const height = described.y.names ? 90 + 30 * unique(series.map((one) => one.y[0])).length : 440;
  place.style.height = `${height}px`;
  const bands = series.filter((one) => !one.kind).length <= DATA.bands;
  const traces = series.flatMap((one, index) => {
    const listed = one.listed !== false && series.findIndex((other) => other.name === one.name) === index;
    const drawn = { ...traceOf(one, described), showlegend: listed && one.shade == null };
    return bands && !one.kind && one.y_error ? [bandOf(one), drawn] : [drawn];
  });
  const config = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };
  plotly().newPlot(place, traces, layoutOf(described, series, place), config);
}

function traceOf(one, described) {
  const color = colourOf(one.look);
  const named = plain(one.kind === "points" && one.text ? one.text : one.name);
  const shared = { name: plain(one.name), legendgroup: plain(one.name), x: one.x, y: rowNames(one, described) };
  const at = one.kind ? "" : ` (${plain(described.x.label)} %{x})`;
  const hover = { customdata: (one.told ?? one.y).map(plain), hovertemplate: `${named}${at}<br>%{customdata}<extra></extra>` };
  const error = (array) => (array ? { type: "data", array, color: ink("quiet"), thickness: 1, width: 2 } : undefined);
  const errors = one.kind ? { error_x: error(one.x_error), error_y: error(one.y_error) } : {};
  if (one.kind === "bar") {
    const bar = { type: "bar", orientation: "h", base: one.start ?? 0, marker: { color } };
    return { ...shared, ...bar, ...hover, ...errors };
  }
  const mode = one.kind === "points" ? "markers" : one.look.bare ? "lines" : "lines+markers";
  const size = one.shade == null || one.look.symbol.startsWith("x") ? 8 : 14;
  const shade = one.shade == null ? { color } : { color: [one.shade], coloraxis: "coloraxis" };
  const edge = one.shade == null ? {} : { line: { color: ink("ink"), width: 0.8 } };
  const look = { line: { color, dash: one.look.dash, width: one.look.width }, marker: { symbol: one.look.symbol, size, ...shade, ...edge } };
  return { type: "scatter", mode, ...shared, ...look, ...errors, ...(one.told || !one.kind ? hover : { hoverinfo: "skip" }) };
}

/** On an axis of names, the names of the rows; else the numbers. */
const rowNames = (one, { y }) => (y.names ? one.y.map((row) => plain(y.names[row])) : one.y);

function bandOf(one) {
  const edge = (sign) => one.y.map((value, at) => value + sign * one.y_error[at]);
  const back = (values) => [...values].reverse();
  const fill = { fill: "toself", fillcolor: colourOf(one.look, 0.14), showlegend: false, hoverinfo: "skip" };
  const outline = { x: [...one.x, ...back(one.x)], y: [...edge(1), ...back(edge(-1))] };
  return { type: "scatter", mode: "none", legendgroup: plain(one.name), ...outline, ...fill };
}

function layoutOf({ x, y, shade, guides = [] }, series, place) {
  const narrow = place.clientWidth < 560;
  const [wide, tall] = [place.clientWidth - (narrow ? 70 : 150), 340];
  const shapes = guides.map(({ x: at, y: up, dashes }) => ({
    ...(at == null ? { xref: "paper", x0: 0, x1: 1, y0: up, y1: up } : { yref: "paper", y0: 0, y1: 1, x0: at, x1: at }),
    type: "line",
    layer: "below",
    line: { color: ink("quiet"), width: 0.8, dash: dashes ? "dot" : "solid" },
  }));
  const told = guides.filter((one) => one.text).map((one) => ({ ...NOTE, x: one.x, y: 0, yref: "paper", xanchor: "left", yanchor: "bottom", text: plain(one.text) }));
  const names = shade ? labels(series.filter((one) => one.text), x.limits, y.limits, wide, tall) : [];
  const rows = y.names ? unique(series.flatMap((one) => rowNames(one, { y }))) : null;
  const reversed = { type: "category", categoryorder: "array", categoryarray: rows, autorange: "reversed", showgrid: false };
  const bar = { thickness: 12, outlinewidth: 0, title: { text: shade }, ...(narrow ? { orientation: "h", y: -0.2, yanchor: "top" } : {}) };
  return {
    margin: { l: 55, r: 15, t: 10, b: 45 },
    paper_bgcolor: "rgba(0, 0, 0, 0)",
    plot_bgcolor: "rgba(0, 0, 0, 0)",
    font: { family: getComputedStyle(document.body).fontFamily, color: ink("ink"), size: 12.5 },
    hoverlabel: { bgcolor: ink("raised"), bordercolor: ink("line"), font: { color: ink("ink") } },
    hovermode: "closest",
    barmode: "overlay",
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
    coloraxis: { colorscale: "Viridis", reversescale: true, colorbar: bar },
    dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom", // a finger scrolls the page
    shapes,
    annotations: [...told, ...names],
    xaxis: axis(x),
    yaxis: { ...axis(y), ...(rows ? reversed : {}) },
  };
}

function axis({ label = "", limits = [], ticks, log }) {
  const [low, high] = limits;
  const range = low != null && high != null ? { range: [low, high] } : low === 0 ? { rangemode: "tozero" } : {};
  const colours = { gridcolor: ink("line"), zerolinecolor: ink("line"), linecolor: ink("line") };
  const title = { text: plain(label), font: { size: 13 }, standoff: 10 };
  return { automargin: true, title, tickvals: ticks, type: log ? "log" : undefined, ...range, ...colours };
}

const NOTE = { showarrow: false, font: { size: 11 } };
const SIDES = [[0, -1], [1, 0], [0, 1], [-1, 0], [1, -1], [-1, -1], [1, 1], [-1, 1]];

/** Names beside points, each on the side where it covers least; sizes in pixels. */
function labels(points, [left, right], [bottom, top], wide, tall) {
  const pixels = points.map(({ x, y }) => [(wide * (x[0] - left)) / (right - left), (tall * (top - y[0])) / (top - bottom)]);
  const taken = pixels.map(([x, y]) => [x - 8, y - 8, x + 8, y + 8]);
  const covered = (a, b) =>
    Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0])) * Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));
  return points.map(({ x, y, text }, place) => {
    const half = [3.3 * text.length, 8];
    const boxes = SIDES.map(([across, down]) => {
      const shift = [across * (half[0] + 8), down * (half[1] + (across ? 4 : 9))];
      const [cx, cy] = [pixels[place][0] + shift[0], pixels[place][1] + shift[1]];
      const box = [cx - half[0], cy - half[1], cx + half[0], cy + half[1]];
      const out = box[0] < 0 || box[1] < 0 || box[2] > wide || box[3] > tall ? 500 : 0;
      return { shift, box, cost: out + taken.reduce((sum, other) => sum + covered(box, other), 0) };
    });
    const best = boxes.reduce((one, other) => (other.cost < one.cost ? other : one));
    taken.push(best.box);
    const ground = { bgcolor: ink("veil"), borderpad: 0 }; // a name never lies under a line
    return { ...NOTE, ...ground, x: x[0], y: y[0], text: plain(text), xshift: best.shift[0], yshift: -best.shift[1] };
  });
}
