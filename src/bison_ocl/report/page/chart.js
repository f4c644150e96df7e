/* Charts: Plotly, in the page's colours. */

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
