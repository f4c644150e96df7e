/* One run: result, accuracies, settings, provenance. */

const titleOf = (line, caption) => `${line.name}, ${caption.replace(/^.*?, /, "")}, seed ${line.cells[0].value ?? line.cells[0]}`;

function opener(line, caption) {
  const onclick = () => update({ run: line.run });
  const unseen = make("span", { class: "unseen" }, ` ${titleOf(line, caption)}`);
  return make("button", { type: "button", id: `open-${line.run}`, "aria-haspopup": "dialog", onclick }, "Open", unseen);
}

function renderRun() {
  const dialog = byId("run");
  const tables = placesOfData().map((place) => place.views.runs.table);
  const lines = tables.flatMap((one) => one.lines.map((line) => ({ ...line, columns: one.columns, title: titleOf(line, one.caption) })));
  const found = lines.find((line) => line.run === state.run);
  if (!found) return dialog.close();
  const result = found.columns.slice(1).map(({ title }, place) => [title, shownCell(found.cells[place], found.columns[place + 1]).text]);
  const part = (title, ...shown) => [make("h3", {}, title), ...shown];
  const close = make("button", { type: "button", onclick: () => dialog.close() }, "Close");
  dialog.replaceChildren(
    make("div", { class: "run-head" }, make("h2", { id: "run-title" }, found.title), close),
    make(
      "div",
      { class: "run-body" },
      ...part("Result", facts(result)),
      ...part("Accuracy", accuracies(found.accuracy)),
      ...part("Settings", facts(Object.entries(DATA.settings[found.settings]))),
      ...part("Provenance", facts(Object.entries({ ...DATA.origins[found.origin], "class order": DATA.orders[found.order] }))),
    ),
  );
  if (!dialog.open) dialog.showModal();
}

function facts(pairs) {
  const written = (value) => (Array.isArray(value) ? value.join(" ") : typeof value === "object" ? JSON.stringify(value) : String(value));
  const there = pairs.filter(([, value]) => value != null);
  const wide = (text) => (text.length > 30 ? "wide" : null);
  return make(
    "dl",
    {},
    there.map(([name, value]) => make("div", { class: wide(written(value)) }, make("dt", {}, name), make("dd", {}, written(value)))),
  );
}

function accuracies(matrix) {
  const tasks = matrix.map((_, task) => `task ${task + 1}`);
  const cellAt = (after, task) => {
    const value = matrix[after][task] ?? 0;
    return { text: task > after && !value ? "" : value.toFixed(1), share: value / 100 };
  };
  return shadedTable("Accuracy on each task after each task, in percent", "after", tasks, tasks, cellAt);
}
