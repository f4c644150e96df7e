/* Tables that sort. */

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
