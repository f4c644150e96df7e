/* One run: result, settings, provenance. */

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
