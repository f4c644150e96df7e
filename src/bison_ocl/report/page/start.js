/* The page around the views. */

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
  const empty = make("p", { class: "empty" }, "Nothing to show: choose at least one method.");
  waiting = [];
  tables = 0;
  const views = viewsNow().map((view) => {
    const charts = (view.choices[state.choice] ?? []).map(chart).filter(Boolean);
    return [make("div", { class: charts.length > 1 ? "grid" : null }, charts), view.table ? table(view.table) : null];
  });
  const shown = state.methods?.length === 0 ? [empty] : views.flat(2);
  panel.replaceChildren(heading(viewsNow()[0]), ...shown.filter(Boolean));
  panel.setAttribute("aria-labelledby", `tab-${state.view}`);
  for (const drawing of waiting) drawing();
}

function renderAbout() {
  byId("about").textContent = DATA.about;
  byId("warnings").hidden = !DATA.warnings.length;
  const list = make("ul", {}, DATA.warnings.map((text) => make("li", {}, text)));
  byId("warnings").replaceChildren(make("strong", {}, "Before you read on"), list);
}

function renderTheme() {
  byId("theme").textContent = isDark() ? "Use light colours" : "Use dark colours";
  render();
}

function chooseTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("bison-ocl-theme", theme);
  } catch {
    /* a page without storage forgets */
  }
  renderTheme();
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
    const opener = `open-${state.run}`;
    if (state.run) update({ run: null });
    byId(opener)?.focus();
  };
  matchMedia("(prefers-color-scheme: dark)").onchange = renderTheme;
  onhashchange = () => {
    readHash();
    settle();
    render();
  };
  readHash();
  settle();
  renderAbout();
  renderTheme();
  (window.requestIdleCallback ?? setTimeout)(plotly);
}

start();
