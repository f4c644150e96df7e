/* Charts: Plotly draws the figures that Python made, in the colours of the page's theme. */

const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

/** A colour of the page's present theme, as Plotly takes it. */
function ink(name) {
  const probe = byId("panel");
  probe.style.color = `var(--${name})`;
  const found = getComputedStyle(probe).color;
  probe.style.color = "";
  return found;
}

/** In the dark, a colour lifted towards white where it would drown. */
function lifted(colour) {
  if (!isDark() || !/^#\w{6}$/.test(colour)) return colour;
  const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const light = (0.299 * parts[0] + 0.587 * parts[1] + 0.114 * parts[2]) / 255;
  const lift = 1.5 * Math.max(0, 0.6 - light);
  return `rgb(${parts.map((part) => Math.round(part + (255 - part) * lift)).join(", ")})`;
}

/** Plotly is large, so it waits as text until the first chart, or until the page is idle. */
function plotly() {
  if (!window.Plotly) {
    const script = document.createElement("script");
    script.append(byId("plotly").textContent);
    document.head.append(script);
  }
  return window.Plotly;
}

/** Draw the charts of the view, with the methods that are switched on. */
function drawCharts(on) {
  const template = themed();
  for (const place of all(".chart")) {
    if (!place.closest("[hidden]")) draw(place, on, template);
    else if (place._fullLayout) plotly().purge(place);
  }
}

function draw(place, on, template) {
  const coloured = (key, value) => (["color", "fillcolor"].includes(key) ? lifted(value) : value);
  const { data, layout, narrow } = JSON.parse(place.nextElementSibling.textContent, coloured);
  const shown = data.filter(({ meta }) => !meta.method || on.includes(meta.method));
  const curves = shown.filter(({ meta }) => meta.band);
  const traces = [...(curves.length <= DATA.bands ? curves.filter(({ meta }) => meta.band.length).map(band) : []), ...shown];
  const named = new Set();
  for (const trace of traces) {
    trace.legendgroup = trace.name;
    trace.showlegend ??= !named.has(trace.name);
    if (trace.showlegend) named.add(trace.name);
  }
  const isNarrow = place.clientWidth < 560;
  layout.annotations = (isNarrow ? narrow : layout.annotations).filter(({ name }) => !name || on.includes(name));
  layout.template = template;
  if (isNarrow) layout.coloraxis.colorbar = { ...layout.coloraxis.colorbar, orientation: "h", y: -0.2, yanchor: "top" };
  if (layout.yaxis.type === "category") layout.yaxis.categoryarray = unique(traces.flatMap(({ y }) => y));
  const usual = isNarrow ? Math.max(440, 340 + 16 * named.size) : 440; // a phone's legend is many lines high
  place.style.height = `${layout.yaxis.categoryarray ? 90 + 30 * layout.yaxis.categoryarray.length : usual}px`;
  const config = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"] };
  plotly().react(place, traces, layout, config);
}

/** One standard deviation around a curve. */
function band({ name, x, y, meta, line }) {
  const edge = (sign) => y.map((value, at) => value + sign * meta.band[at]);
  const outline = { x: [...x, ...x.toReversed()], y: [...edge(1), ...edge(-1).reverse()] };
  const fill = { fill: "toself", fillcolor: line.color, opacity: 0.14, showlegend: false, hoverinfo: "skip" };
  return { mode: "none", name, ...outline, ...fill };
}

/** What all charts share. */
function themed() {
  const [text, quiet, line] = ["ink", "quiet", "line"].map(ink);
  const axis = { automargin: true, gridcolor: line, zerolinecolor: line, linecolor: line, title: { font: { size: 13 }, standoff: 10 } };
  const error = { color: quiet, thickness: 1, width: 2 };
  const errors = [{ error_x: error, error_y: error, marker: { line: { color: text } } }];
  return {
    data: { scatter: errors, bar: [{ error_x: error }] },
    layout: {
      margin: { l: 55, r: 15, t: 10, b: 45 },
      paper_bgcolor: "rgba(0, 0, 0, 0)",
      plot_bgcolor: "rgba(0, 0, 0, 0)",
      font: { family: getComputedStyle(document.body).fontFamily, color: text, size: 12.5 },
      hoverlabel: { bgcolor: ink("raised"), bordercolor: line, font: { color: text } },
      modebar: { bgcolor: ink("raised"), color: quiet, activecolor: text },
      hovermode: "closest",
      barmode: "overlay",
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
      coloraxis: { colorscale: "Viridis", reversescale: true, colorbar: { thickness: 12, outlinewidth: 0 } },
      dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom", // a finger scrolls the page
      annotationdefaults: { font: { size: 11 }, bgcolor: ink("veil"), borderpad: 0, arrowhead: 0, arrowwidth: 0.6, arrowcolor: quiet },
      shapedefaults: { line: { color: quiet } },
      xaxis: axis,
      yaxis: axis,
    },
  };
}
