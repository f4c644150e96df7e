"use strict";
/* The report page: state in the address's hash, one view at a time, drawn from one JSON object.
   Data enter the page as text, never as HTML; Plotly's labels, which know some tags, are escaped. */

const DATA = JSON.parse(byId("data").textContent);
const MEANINGS = {
  AA: "average accuracy after the last task",
  AF_table: "forgetting as the paper's tables count it: all tasks, best at any time",
  AF: "forgetting by the paper's formula: tasks before the last, may be negative",
  AI: "intransigence: how much worse tasks are learned than by FINE-TUNE",
  A_AUC: "accuracy on the way, where tasks share classes",
};
const METRICS = Object.fromEntries(
  DATA.metrics.map(([name, title, better]) => [
    name,
    { title, sign: better === "higher" ? 1 : -1, what: MEANINGS[name] },
  ]),
);
const RUN_METRICS = Object.keys(METRICS); // in the order of run.metrics
const COSTS = DATA.costs.map(([name, label, unit]) => ({ name, title: unit ? `${label} (${unit})` : label })); // of run.costs
const REFERENCE = "finetune";
const ALL = "all";
const [CLOSE, NEAR] = DATA.distances; // differences from the paper, in points
const BANDS = 5; // with more curves than this, bands hide each other

/* ---- small tools ---- */

function byId(id) {
  return document.getElementById(id);
}

/** An element with attributes and children; a child that is a string becomes text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick" || name === "onchange") element[name] = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null));
  return element;
}

const unique = (values) => [...new Set(values)];
const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const fixed = (value, digits = 1) =>
  value == null
    ? "–"
    : value
        .toFixed(digits)
        .replace(/^-(0\.?0*)$/, "$1")
        .replace("-", "−");
const spread = (pair) => (pair == null ? "–" : fixed(pair[0]) + (pair[1] == null ? "" : ` ± ${fixed(pair[1])}`));
const signed = (points) => (fixed(points).match(/^(−|0\.0)/) ? "" : "+") + fixed(points);
const digitsOf = (value) => (value >= 100 ? 0 : value >= 10 ? 1 : 2);
/** A time with three digits or so, its deviation to the same place. */
const measured = ([mean, std]) => fixed(mean, digitsOf(mean)) + (std == null ? "" : ` ± ${fixed(std, digitsOf(mean))}`);
const seconds = (value) => (value == null ? "–" : measured([value]));
const written = (value) =>
  value == null
    ? "–"
    : Array.isArray(value)
      ? value.join(" ")
      : typeof value === "object"
        ? JSON.stringify(value)
        : String(value);

const memoryName = (size) => (size >= 200 && size % 100 === 0 ? `${size / 1000}k` : String(size));
/** A row's name among those shown. */
const nameOf = (row) => (state.memory === ALL && row.memory ? `${row.name} · M = ${memoryName(row.memory)}` : row.name);
const labelOf = (method) => DATA.methods[method].name;

/* ---- state ---- */

const state = {
  item: null,
  data: null,
  memory: null,
  methods: null,
  view: null,
  metric: null,
  af: null,
  sort: null,
  run: null,
};

function readHash() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const key of Object.keys(state)) state[key] = given.get(key);
  state.methods = state.methods == null ? null : state.methods.split(",");
}

/** Make the state one that can be shown, whatever the hash said. */
function settle() {
  const within = (value, values, otherwise = values[0]) => (values.includes(value) ? value : otherwise);
  state.item = within(
    state.item,
    DATA.items.map((item) => item.name),
  );
  state.data = within(state.data, places().map(placeKey));
  state.memory = within(state.memory, memories());
  if (state.methods) {
    const kept = methodsThere().filter((method) => state.methods.includes(method));
    state.methods = kept.length === methodsThere().length ? null : kept;
  }
  state.view = within(
    state.view,
    viewsThere().map(([name]) => name),
  );
  state.metric = within(state.metric, metricsThere(rowsOfData()));
  state.af = within(state.af, ["AF_table", "AF"]);
}

function writeHash() {
  const kept = Object.entries(state).filter(([, value]) => value != null);
  const defaults = { metric: "AA", af: "AF_table" };
  const needed = kept.filter(([key, value]) => defaults[key] !== value);
  const hash = new URLSearchParams(needed.map(([key, value]) => [key, Array.isArray(value) ? value.join(",") : value]));
  history.replaceState(null, "", `#${hash}`);
}

function update(change) {
  Object.assign(state, change);
  settle();
  writeHash();
  render();
}

const itemNow = () => DATA.items.find((item) => item.name === state.item);
const places = () => unique(itemNow().rows.map((row) => row.place)).map((place) => DATA.places[place]);
/** A place as the hash names it: the dataset, and what is unusual about its stream. */
const placeKey = (place) =>
  [place.data, ...Object.values(place.options), ...(place.stream === DATA.stream ? [] : [place.stream])].join(" ");
const placeNow = () => places().find((place) => placeKey(place) === state.data);
const rowsOfData = () => itemNow().rows.filter((row) => DATA.places[row.place] === placeNow());
function memories() {
  const sizes = unique(rowsOfData().map((row) => row.memory))
    .filter((size) => size > 0)
    .sort((a, b) => a - b)
    .map(String);
  return sizes.length > 1 ? [...sizes, ALL] : sizes.length ? sizes : ["0"];
}
/** Rows of the chosen memory; a method that keeps none (FINE-TUNE) belongs to every choice. */
const rowsOfMemory = () =>
  rowsOfData().filter((row) => state.memory === ALL || row.memory === 0 || String(row.memory) === state.memory);
const methodsThere = () => unique(rowsOfMemory().map((row) => row.method));
const shown = () => rowsOfMemory().filter((row) => !state.methods || state.methods.includes(row.method));
const metricsThere = (rows) => Object.keys(METRICS).filter((name) => rows.some((row) => row.metrics[name]));

/* ---- controls ---- */

function renderControls() {
  options(
    "item",
    DATA.items.map((item) => [item.name, item.title]),
    state.item,
  );
  options(
    "data-choice",
    places().map((place) => [placeKey(place), place.name]),
    state.data,
  );
  options(
    "memory",
    memories().map((size) => [size, size === ALL ? "all" : memoryName(Number(size))]),
    state.memory,
  );
  byId("methods").replaceChildren(...methodsThere().map(methodBox));
}

function options(id, pairs, chosen) {
  byId(id).replaceChildren(
    ...pairs.map(([value, text]) => make("option", { value, selected: value === chosen }, text)),
  );
}

function methodBox(method, place) {
  const checked = !state.methods || state.methods.includes(method);
  const box = make("input", {
    type: "checkbox",
    id: `method-${place}`,
    value: method,
    checked,
    onchange: () => toggleMethod(method),
  });
  return make("label", {}, box, swatch(DATA.methods[method]), labelOf(method));
}

function toggleMethod(method) {
  const on = state.methods ?? methodsThere();
  update({ methods: on.includes(method) ? on.filter((one) => one !== method) : [...on, method] });
}

/** A dot in the colour of a row or a method. */
function swatch(look) {
  const element = make("span", { class: look.dash === "solid" ? "swatch" : "swatch ring", "aria-hidden": "true" });
  element.style.setProperty("--colour", colourOf(look));
  return element;
}

function renderTabs() {
  const views = viewsThere();
  byId("tabs").replaceChildren(
    ...views.map(([name, view]) => {
      const chosen = name === state.view;
      return make(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${name}`,
          "aria-selected": String(chosen),
          "aria-controls": "panel",
          tabindex: chosen ? "0" : "-1",
          onclick: () => update({ view: name }),
        },
        view.title,
      );
    }),
  );
}

function moveTab(event) {
  const names = viewsThere().map(([name]) => name);
  const here = names.indexOf(state.view),
    last = names.length - 1;
  const places = {
    ArrowRight: here === last ? 0 : here + 1,
    ArrowLeft: here === 0 ? last : here - 1,
    Home: 0,
    End: last,
  };
  if (!(event.key in places)) return;
  event.preventDefault();
  update({ view: names[places[event.key]] });
  byId(`tab-${state.view}`).focus();
}

/* ---- tables ---- */

/** A table whose columns sort. A column: key, title, show(row), value(row) if it can be sorted by,
    and perhaps group (a heading over several), number, first (of its group), row (its heading). */
function table(caption, columns, rows) {
  const [key, direction] = (state.sort ?? "").split(":");
  const by = columns.find((column) => column.key === key && column.value);
  const ordered = by ? sorted(rows, by.value, direction === "up" ? 1 : -1) : rows;
  const groups = columns.some((column) => column.group) ? groupRow(columns) : null;
  const head = make(
    "tr",
    {},
    columns.map((column) => headCell(column, by === column ? direction : null)),
  );
  const body = ordered.map((row) =>
    make(
      "tr",
      {},
      columns.map((column) => bodyCell(column, row)),
    ),
  );
  const whole = make(
    "table",
    {},
    make("caption", {}, make("span", {}, caption)),
    make("thead", {}, groups, head),
    make("tbody", {}, body),
  );
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, whole);
}

function sorted(rows, value, sign) {
  const missing = (one) => one == null || Number.isNaN(one);
  return [...rows].sort((left, right) => {
    const [a, b] = [value(left), value(right)];
    if (missing(a) || missing(b)) return missing(a) - missing(b); // the unknown last, either way
    return sign * (typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
  });
}

function groupRow(columns) {
  const cells = [];
  for (const { group = "", first } of columns) {
    const last = cells.at(-1);
    if (last && last.group === group && !first) last.span += 1;
    else cells.push({ group, first, span: 1 });
  }
  return make(
    "tr",
    {},
    cells.map(({ group, first, span }) =>
      make(
        group ? "th" : "td",
        { colspan: span, scope: group ? "colgroup" : null, class: first ? "first" : null },
        group,
      ),
    ),
  );
}

function headCell(column, direction) {
  if (!column.value) return make("th", { scope: "col", class: classes(column) }, column.title);
  const next = direction === "down" ? "up" : direction === "up" ? null : "down";
  const button = make(
    "button",
    {
      type: "button",
      id: `sort-${column.key}`,
      title: column.what,
      onclick: () => update({ sort: next && `${column.key}:${next}` }),
    },
    column.title,
    make("span", { class: "unseen" }, column.group ? ` ${column.group}` : ""),
  );
  const order = { up: "ascending", down: "descending" }[direction];
  return make("th", { scope: "col", "aria-sort": order, class: classes(column) }, button);
}

const classes = (column) => ["number", "first", "row"].filter((name) => column[name]).join(" ") || null;

function bodyCell(column, row) {
  const cell = make(column.row ? "th" : "td", { scope: column.row ? "row" : null, class: classes(column) });
  cell.append(...[column.show(row)].flat().filter((part) => part != null));
  return cell;
}

function methodColumn(title = "method") {
  return { key: "method", title, row: true, value: nameOf, show: (row) => [swatch(row), nameOf(row)] };
}

const numberColumn = (key, title, value, show) => ({
  key,
  title,
  number: true,
  value,
  show: (row) => show(value(row), row),
});

function empty() {
  return make("p", { class: "empty" }, "Nothing to show: choose at least one method.");
}

/* ---- charts ---- */

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

/** The colour of a row or a method, lifted towards white where it would drown in the dark. */
function colourOf({ colour }) {
  if (!isDark()) return colour;
  const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const light = (0.299 * parts[0] + 0.587 * parts[1] + 0.114 * parts[2]) / 255;
  const lift = 1.5 * Math.max(0, 0.6 - light);
  return `rgb(${parts.map((part) => Math.round(part + (255 - part) * lift)).join(", ")})`;
}

const faint = (colour) =>
  colour
    .replace(/^#(..)(..)(..)$/, (_, r, g, b) => `rgb(${[r, g, b].map((x) => parseInt(x, 16)).join(", ")})`)
    .replace("rgb(", "rgba(")
    .replace(")", ", 0.14)");

let drawings = []; // of the present view: places on the page, and how they are drawn
const AT_ONCE = 8; // with more charts than this, those out of sight wait until they come near
const nearby = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) drawAt(target);
  },
  { rootMargin: "400px" },
);

function drawAt(place) {
  nearby.unobserve(place);
  drawings.find((drawing) => drawing.place === place)?.draw();
}

/** Plotly is large, so it waits as text until the first chart, or until the page is idle. */
function plotly() {
  if (!window.Plotly) document.head.append(make("script", {}, byId("plotly").textContent));
  return window.Plotly;
}

/** A figure with a chart; `label` says in words what it shows. */
function chart(label, caption, traces, layout = {}) {
  const place = make("div", { class: "chart", role: "img", "aria-label": label });
  if (layout.height) place.style.minHeight = `${layout.height}px`;
  const config = {
    responsive: true,
    displaylogo: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };
  drawings.push({ place, draw: () => plotly().newPlot(place, traces, themed(layout), config) });
  return make("figure", {}, place, caption ? make("figcaption", {}, caption) : null);
}

function themed(layout) {
  const styled = { ...layout };
  for (const name of ["xaxis", "yaxis"]) {
    const { title, ...rest } = layout[name] ?? {};
    styled[name] = {
      gridcolor: ink("line"),
      zerolinecolor: ink("line"),
      linecolor: ink("line"),
      automargin: true,
      ...rest,
      title: { font: { size: 13 }, standoff: 10, ...title },
    };
  }
  return {
    margin: { l: 55, r: 15, t: 40, b: 45 },
    paper_bgcolor: "rgba(0, 0, 0, 0)",
    plot_bgcolor: "rgba(0, 0, 0, 0)",
    font: { family: getComputedStyle(document.body).fontFamily, color: ink("ink"), size: 12.5 },
    hoverlabel: { bgcolor: ink("raised"), bordercolor: ink("line"), font: { color: ink("ink") } },
    legend: { orientation: "h", y: 1.03, yanchor: "bottom", x: 0 },
    dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom", // a finger scrolls the page
    ...styled,
  };
}

/** How a row's line and points look, as in the printed figures. */
function looks(row) {
  const color = colourOf(row);
  return { line: { color, dash: row.dash, width: row.width }, marker: { color, symbol: row.symbol, size: 8 } };
}

function numbers(title, columns, rows) {
  return make("details", {}, make("summary", {}, "Numbers"), table(title, columns, rows));
}

const where = () =>
  `${placeNow().name}, ${state.memory === ALL ? "all memories" : `M = ${memoryName(Number(state.memory))}`}`;

/* ---- views ---- */

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

function metricColumns(name, rows) {
  const { title } = METRICS[name],
    value = (row) => row.metrics[name]?.[0];
  const printed = rows.some((row) => row.paper?.[name]);
  const rank = ranks(rows, name);
  const ours = {
    ...numberColumn(name, printed ? "ours" : title, value, (_, row) => rankedCell(row, name, rank.get(row))),
    what: METRICS[name].what,
    group: printed ? title : undefined,
    first: true,
  };
  if (!printed) return [ours];
  const paper = (row) => row.paper?.[name]?.[0];
  const difference = (row) => (value(row) == null || paper(row) == null ? null : value(row) - paper(row));
  return [
    ours,
    { ...numberColumn(`${name}-paper`, "paper", paper, (_, row) => spread(row.paper?.[name])), group: title },
    {
      ...numberColumn(`${name}-difference`, "diff.", difference, (points) =>
        points == null ? "–" : make("span", { class: distance(points) }, signed(points)),
      ),
      group: title,
    },
  ];
}

const distance = (points) => (Math.abs(points) <= CLOSE ? "close" : Math.abs(points) <= NEAR ? "near" : "far");

/** Best and runner-up among the rows of a memory; equal ones share a rank. */
function ranks(rows, name) {
  const found = new Map();
  const ranked = rows.filter((row) => row.metrics[name] && row.method !== REFERENCE);
  for (const memory of unique(ranked.map((row) => row.memory))) {
    const there = ranked.filter((row) => row.memory === memory);
    const values = unique(there.map((row) => row.metrics[name][0])).sort((a, b) => METRICS[name].sign * (b - a));
    if (values.length < 2) continue;
    for (const row of there) found.set(row, ["best", "second"][values.indexOf(row.metrics[name][0])]);
  }
  return found;
}

function rankedCell(row, name, rank) {
  const found = row.metrics[name];
  if (!found) return "–";
  const over =
    name === "AI" && found[3] != null
      ? make("small", { title: "standard deviation over tasks, as the paper prints it" }, ` / ${fixed(found[3])}`)
      : null;
  const said = { best: " best", second: " runner-up" }[rank];
  return [make("span", { class: rank }, spread(found)), over, said ? make("span", { class: "unseen" }, said) : null];
}

function legendOfMetrics(metrics, rows) {
  const meanings = metrics.map((name) => `${METRICS[name].title}: ${METRICS[name].what}`).join(". ");
  const colours = rows.some((row) => row.paper)
    ? ` Differences up to ${CLOSE} point are green, up to ${NEAR} amber, beyond red.`
    : "";
  const ai = metrics.includes("AI") ? " AI's second ± is over tasks." : "";
  return `${meanings}.${ai}${colours}`;
}

function heading(title, note, ...choices) {
  return make(
    "div",
    { class: "heading" },
    make("div", {}, make("h2", {}, title), note ? make("p", { class: "note" }, note) : null),
    ...choices,
  );
}

function chooser(id, title, pairs, chosen, change) {
  const list = make("select", { id, onchange: (event) => change(event.target.value) });
  list.append(...pairs.map(([value, text]) => make("option", { value, selected: value === chosen }, text)));
  return make("label", { class: "choice" }, title, list);
}

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
    "Bars: mean over runs, with one standard deviation. Diamonds: the paper's number, where it prints one.",
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

function interplayView() {
  const rows = shown().filter((row) => row.metrics.AI);
  const AF = state.af;
  const ours = rows.map((row) => [row.metrics.AI[0], row.metrics[AF][0]]);
  const paper = rows.map((row) => (row.paper?.AI && row.paper[AF] ? [row.paper.AI[0], row.paper[AF][0]] : null));
  const names = rows.map((row) => plain(nameOf(row)));
  const xs = (points) => points.map((point) => point?.[0]),
    ys = (points) => points.map((point) => point?.[1]);
  const error = (name) => ({
    type: "data",
    array: rows.map((row) => row.metrics[name][1] ?? 0),
    color: ink("quiet"),
    thickness: 0.8,
    width: 0,
  });
  const known = paper.filter(Boolean);
  const narrow = byId("panel").clientWidth < 560;
  const [width, height] = [byId("panel").clientWidth - (narrow ? 70 : 150), 420];
  const xrange = padded(xs([...ours, ...known])),
    yrange = padded(ys([...ours, ...known]));
  const pixels = ours.map(([x, y]) => [
    (width * (x - xrange[0])) / (xrange[1] - xrange[0]),
    (height * (yrange[1] - y)) / (yrange[1] - yrange[0]),
  ]);
  const colorbar = {
    title: { text: "AA %" },
    thickness: 12,
    outlinewidth: 0,
    ...(narrow ? { orientation: "h", y: -0.16, yanchor: "top" } : {}),
  };
  const traces = [
    {
      type: "scatter",
      name: "ours",
      mode: "markers+text",
      x: xs(ours),
      y: ys(ours),
      text: names,
      textposition: labelPlaces(pixels, names, width, height),
      textfont: { size: narrow ? 10 : 11.5 },
      error_x: error("AI"),
      error_y: error(AF),
      customdata: rows.map((row) => ["AA", AF, "AI"].map((name) => spread(row.metrics[name]))),
      hovertemplate: "%{text}<br>AA %{customdata[0]}<br>AF %{customdata[1]}<br>AI %{customdata[2]}<extra></extra>",
      marker: {
        size: 14,
        color: rows.map((row) => row.metrics.AA[0]),
        colorscale: "Viridis",
        reversescale: !isDark(),
        line: { color: ink("ink"), width: 0.8 },
        colorbar,
      },
    },
  ];
  if (known.length) {
    const pairs = ours.flatMap((point, place) => (paper[place] ? [point, paper[place], null] : []));
    traces.unshift({
      type: "scatter",
      mode: "lines",
      x: xs(pairs),
      y: ys(pairs),
      line: { color: ink("line"), width: 1.2 },
      hoverinfo: "skip",
      showlegend: false,
    });
    traces.push({
      type: "scatter",
      name: "paper",
      mode: "markers",
      x: xs(paper),
      y: ys(paper),
      text: names,
      hovertemplate: "%{text}, paper<br>AF %{y:.1f}<br>AI %{x:.1f}<extra></extra>",
      marker: { symbol: "diamond-open", size: 8, color: ink("quiet") },
    });
  }
  const axis = (text, range) => ({ title: { text }, range, zerolinecolor: ink("quiet") });
  const layout = {
    height: 520,
    showlegend: known.length > 0,
    xaxis: axis("AI, intransigence (%): lower learns better", xrange),
    yaxis: axis("AF, forgetting (%): lower remembers better", yrange),
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

function confusionView() {
  const rows = shown().filter((row) => row.confusion);
  const figures = rows.map((row) => {
    const classes = placeNow().classes;
    const share = row.confusion.map((line) => {
      const sum = line.reduce((a, b) => a + b, 0);
      return line.map((count) => (sum ? (100 * count) / sum : 0));
    });
    const few = classes.length <= 20;
    const trace = {
      type: "heatmap",
      x: classes,
      y: classes,
      z: share,
      zmin: 0,
      zmax: 100,
      colorscale: scale(),
      showscale: false,
      customdata: row.confusion,
      text: row.confusion.map((line) => line.map((count) => Math.round(count))),
      texttemplate: few ? "%{text}" : "",
      textfont: { size: 10 },
      hovertemplate: "label %{y}, predicted %{x}<br>%{customdata} images, %{z:.1f} %<extra></extra>",
      xgap: 1,
      ygap: 1,
    };
    const shapes = row.confusion.flatMap((line, y) => {
      const x = topError(line, y);
      return x == null ? [] : [outline(y, x, ink("far"))];
    });
    const axis = (text) => ({ title: { text }, type: "category", showgrid: false });
    const layout = {
      title: { text: plain(nameOf(row)), font: { size: 14 } },
      shapes: few ? shapes : [],
      xaxis: axis("predicted class"),
      yaxis: { ...axis("label"), autorange: "reversed" },
    };
    return chart(`Confusion matrix of ${nameOf(row)}, ${where()}`, null, [trace], layout);
  });
  const note =
    "Test images at the end of training, mean over runs. Shade: share of the label's images. Outlined: each label's most frequent error.";
  return [heading("Confusion", note), make("div", { class: "grid" }, figures)];
}

function topError(line, y) {
  const errors = line.map((count, x) => (x === y ? -1 : count));
  const most = Math.max(...errors);
  return most > 0 ? errors.indexOf(most) : null;
}

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

const VIEWS = {
  summary: { title: "Summary", draw: summaryView, needs: () => true },
  compare: { title: "Compare", draw: compareView, needs: () => true },
  curves: { title: "Curves", draw: curvesView, needs: (row) => row.curve && row.curve.length > 1 },
  interplay: { title: "Interplay", draw: interplayView, needs: (row) => row.metrics.AI },
  confusion: { title: "Confusion", draw: confusionView, needs: (row) => row.confusion },
  log: { title: "α and η", draw: logView, needs: (row) => row.log },
  loss: { title: "Loss", draw: lossView, needs: (row) => row.losses },
  time: { title: "Time", draw: timeView, needs: (row) => row.costs.total_s },
  runs: { title: "Runs", draw: runsView, needs: () => true },
};

const viewsThere = () => Object.entries(VIEWS).filter(([, view]) => rowsOfData().some(view.needs));

/* ---- one run ---- */

function renderRun() {
  const dialog = byId("run");
  const found = runOf(state.run);
  if (!found) {
    if (dialog.open) dialog.close();
    return;
  }
  const { row, run } = found;
  const settings = DATA.settings[row.settings],
    origin = DATA.origins[run.origin];
  const result = Object.fromEntries([
    ...RUN_METRICS.map((name, place) => [
      METRICS[name].title,
      run.metrics[place] == null ? null : `${fixed(run.metrics[place], 2)} %`,
    ]),
    ...COSTS.map(({ title }, place) => [title, run.costs[place] == null ? null : seconds(run.costs[place])]),
  ]);
  const { commit, data_sha256: checksum, ...machine } = origin,
    place = DATA.places[row.place];
  const close = make("button", { type: "button", onclick: () => dialog.close() }, "Close");
  const title = make(
    "h2",
    { id: "run-title" },
    `${row.name}, ${DATA.places[row.place].name}, M = ${memoryName(row.memory)}, seed ${run.seed}`,
  );
  dialog.replaceChildren(
    make("div", { class: "run-head" }, title, close),
    make(
      "div",
      { class: "run-body" },
      make("h3", {}, "Result"),
      facts(result),
      make("h3", {}, "Accuracy"),
      accuracyTable(run.accuracy),
      make("h3", {}, "Settings"),
      facts(settings),
      make("h3", {}, "Provenance"),
      facts(machine),
      facts(
        {
          commit,
          data: place.data,
          stream: place.stream,
          ...place.options,
          "class order": DATA.orders[run.order],
          "test images, SHA-256": checksum,
        },
        "wide",
      ),
    ),
  );
  if (!dialog.open) dialog.showModal();
}

function runOf(name) {
  const [place, seed] = (name ?? "").split(".");
  const row = itemNow().rows[place];
  const run = row?.runs.find((one) => String(one.seed) === seed);
  return run && { row, run };
}

function facts(pairs, kind) {
  const there = Object.entries(pairs).filter(([, value]) => value != null);
  return make(
    "dl",
    {},
    there.map(([name, value]) => make("div", { class: kind }, make("dt", {}, name), make("dd", {}, written(value)))),
  );
}

function accuracyTable(matrix) {
  const tasks = matrix.map((_, place) => place);
  const head = make(
    "tr",
    {},
    make("th", { scope: "col", class: "row" }, "after"),
    tasks.map((task) => make("th", { scope: "col", class: "number" }, `task ${task + 1}`)),
  );
  const body = matrix.map((line, after) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, `task ${after + 1}`),
      tasks.map((task) => {
        const cell = make("td", { class: "number shade" }, task > after && !line[task] ? "" : fixed(line[task] ?? 0));
        cell.style.setProperty("--share", (line[task] ?? 0) / 100);
        return cell;
      }),
    ),
  );
  const caption = "Accuracy on each task after each task, in percent";
  return make(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    make("table", {}, make("caption", {}, make("span", {}, caption)), make("thead", {}, head), make("tbody", {}, body)),
  );
}

/* ---- the page ---- */

function render() {
  const focused = document.activeElement?.id;
  renderControls();
  renderTabs();
  renderPanel();
  renderRun();
  if (focused && !byId("run").open) byId(focused)?.focus({ preventScroll: true });
}

function renderPanel() {
  const panel = byId("panel");
  for (const old of panel.querySelectorAll(".js-plotly-plot")) plotly().purge(old);
  nearby.disconnect();
  drawings = [];
  panel.replaceChildren(...(shown().length ? VIEWS[state.view].draw() : [empty()]));
  panel.setAttribute("aria-labelledby", `tab-${state.view}`);
  for (const { place } of drawings) {
    if (drawings.length <= AT_ONCE) drawAt(place);
    else nearby.observe(place);
  }
}

function renderWarnings() {
  byId("warnings").hidden = !DATA.warnings.length;
  byId("warnings").replaceChildren(
    make("strong", {}, "Before you read on"),
    make(
      "ul",
      {},
      DATA.warnings.map((text) => make("li", {}, text)),
    ),
  );
  const runs = DATA.items.reduce((sum, item) => sum + item.rows.reduce((n, row) => n + row.runs.length, 0), 0);
  byId("about").textContent =
    `${runs.toLocaleString("en")} runs in ${DATA.items.length} ${DATA.items.length === 1 ? "item" : "items"}, made with bison-ocl`;
}

function renderTheme() {
  byId("theme").setAttribute("aria-pressed", String(isDark()));
}

function chooseTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("bison-ocl-theme", theme);
  } catch {
    /* a page without storage forgets */
  }
  renderTheme();
  render();
}

function start() {
  try {
    const kept = localStorage.getItem("bison-ocl-theme");
    if (kept) document.documentElement.dataset.theme = kept;
  } catch {
    /* no storage: the system's theme */
  }
  byId("item").onchange = (event) => update({ item: event.target.value, sort: null, run: null });
  byId("data-choice").onchange = (event) => update({ data: event.target.value });
  byId("memory").onchange = (event) => update({ memory: event.target.value });
  byId("all-methods").onclick = () => update({ methods: null });
  byId("no-methods").onclick = () => update({ methods: [] });
  byId("tabs").onkeydown = moveTab;
  byId("theme").onclick = () => chooseTheme(isDark() ? "light" : "dark");
  byId("skip").onclick = (event) => {
    event.preventDefault();
    byId("panel").focus();
  };
  byId("run").onclose = () => {
    if (state.run) {
      const opener = `open-${state.run}`;
      update({ run: null });
      byId(opener)?.focus();
    }
  };
  matchMedia("(prefers-color-scheme: dark)").onchange = () => {
    renderTheme();
    render();
  };
  onhashchange = () => {
    readHash();
    settle();
    render();
  };
  readHash();
  settle();
  renderWarnings();
  renderTheme();
  render();
  (window.requestIdleCallback ?? setTimeout)(plotly);
}

start();
