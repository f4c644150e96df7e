/* The views, and the page around them. */

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
