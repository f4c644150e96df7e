/* Tables that sort, and the details of one run. */

const DATA = JSON.parse(byId("data-of-runs").textContent);

/** An element with text or children. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const placeOf = ({ place }) => DATA.shared[place];
const titleOf = (run) => `${run.cells[0]}, ${placeOf(run).where}, seed ${run.cells[1]}`;

/** Make the lines of runs that are shown for the first time. */
function fillRuns() {
  for (const body of all("tbody[data-first]").filter((one) => !one.rows.length && !one.closest("[hidden]"))) {
    const runs = DATA.runs.slice(body.dataset.first, body.dataset.last);
    body.append(...runs.map((run) => {
      const [name, ...others] = run.cells;
      const opener = make("button", { class: "open", "aria-haspopup": "dialog", "aria-label": `Open ${titleOf(run)}` }, "Open");
      const cells = others.map((text) => make("td", {}, text || "–"));
      return make("tr", { "data-method": run.method }, make("th", { scope: "row" }, name), ...cells, make("td", {}, opener));
    }));
  }
}

const NEXT = { null: "descending", descending: "ascending", ascending: null };

/** Sort a table by a column: down, then up, then as it was. */
function sortBy(head) {
  const order = NEXT[head.getAttribute("aria-sort")];
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  if (order) head.setAttribute("aria-sort", order);
  const body = head.closest("table").tBodies[0];
  for (const row of body.rows) row.dataset.place ??= row.sectionRowIndex;
  const text = ({ cells, dataset }) => (order ? cells[head.cellIndex].textContent.trim() : dataset.place);
  const number = (shown) => Number(shown.split(" ")[0].replaceAll(",", "")); // the mean of 26.3 ± 1.0
  const sign = order === "descending" ? -1 : 1;
  const unknown = (shown) => shown === "–";
  body.append(
    ...[...body.rows].sort((left, right) => {
      const [a, b] = [text(left), text(right)];
      if (unknown(a) || unknown(b)) return unknown(a) - unknown(b); // the unknown last, either way
      const difference = number(a) - number(b);
      return sign * (Number.isNaN(difference) ? a.localeCompare(b, "en", { numeric: true }) : difference);
    }),
  );
}

/** Open the details of the run of the chosen item that the hash names. */
function showRun() {
  const dialog = byId("run");
  const run = DATA.runs.find((one) => placeOf(one).item === state.item && titleOf(one) === state.run);
  if (!run) return dialog.close();
  byId("run-title").textContent = titleOf(run);
  facts("run-result", placeOf(run).head.map((head, place) => [head, run.cells[place] || null]).slice(1));
  byId("run-accuracy").replaceChildren(accuracies(run.accuracy));
  facts("run-settings", Object.entries(DATA.shared[run.settings]));
  facts("run-origin", [...Object.entries(DATA.shared[run.origin]), ["class order", DATA.shared[run.order].join(" ")]]);
  if (!dialog.open) dialog.showModal();
}

function facts(id, pairs) {
  const written = (value) => (typeof value === "object" ? JSON.stringify(value) : String(value));
  const known = pairs.filter(([, value]) => value != null).map(([name, value]) => [name, written(value)]);
  byId(id).replaceChildren(
    ...known.map(([name, text]) => make("div", { class: text.length > 30 ? "wide" : "" }, make("dt", {}, name), make("dd", {}, text))),
  );
}

function accuracies(matrix) {
  const title = "Accuracy on each task after each task, in percent";
  const head = matrix.map((_, task) => make("th", { scope: "col" }, `task ${task + 1}`));
  const cell = (after, task) => {
    const value = matrix[after][task] ?? 0;
    return make("td", { class: "shade", style: `--share: ${value / 100}` }, task > after && !value ? "" : value.toFixed(1));
  };
  const rows = matrix.map((_, after) =>
    make("tr", {}, make("th", { scope: "row" }, `task ${after + 1}`), ...matrix.map((_, task) => cell(after, task))),
  );
  const table = make("table", { class: "map" }, make("caption", {}, title));
  table.append(make("thead", {}, make("tr", {}, make("th", { scope: "col", class: "row" }, "after"), ...head)), make("tbody", {}, ...rows));
  return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title }, table);
}
