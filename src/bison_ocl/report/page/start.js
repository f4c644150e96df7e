/* What the reader does. */

const THEME = "bison-ocl-theme";

function renderTheme() {
  byId("theme").textContent = isDark() ? "Use light colours" : "Use dark colours";
  show();
}

function chooseTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(THEME, theme);
  } catch {
    /* a page without storage forgets */
  }
  renderTheme();
}

function start() {
  try {
    const kept = localStorage.getItem(THEME);
    if (kept) document.documentElement.dataset.theme = kept;
  } catch {
    /* no storage: the system's theme */
  }
  for (const list of ["item", "data", "memory", "choice"]) byId(list).onchange = ({ target }) => update({ [list]: target.value, run: null });
  const ticked = () => all("#methods input").filter((box) => box.checked && !box.parentElement.hidden);
  byId("methods").onchange = () => update({ methods: ticked().map((box) => box.value).join(",") });
  byId("all-methods").onclick = () => update({ methods: null });
  byId("no-methods").onclick = () => update({ methods: "" });
  byId("views").onchange = ({ target }) => update({ view: target.value });
  byId("theme").onclick = () => chooseTheme(isDark() ? "light" : "dark");
  byId("skip").onclick = (event) => {
    event.preventDefault();
    byId("panel").focus();
  };
  byId("panel").onclick = ({ target }) => {
    if (target.matches("thead button")) sortBy(target.closest("th"));
    if (target.matches(".open")) update({ run: target.ariaLabel.replace("Open ", "") });
  };
  byId("close").onclick = () => byId("run").close(); // the focus returns to the button that opened it
  byId("run").onclose = () => update({ run: null });
  matchMedia("(prefers-color-scheme: dark)").onchange = renderTheme;
  onhashchange = () => {
    readHash();
    show();
  };
  readHash();
  renderTheme();
  (window.requestIdleCallback ?? setTimeout)(plotly);
}

start();
