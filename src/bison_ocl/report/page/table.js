/* Tables that sort, and maps: numbers as shaded cells. */

let tables = 0; // on the page: headings of the first have the plainest ids

/** A cell as text: numbers of runs come without. */
const shownCell = (cell, { decimals = 0 } = {}) =>
  typeof cell === "number" ? { text: cell.toFixed(decimals), value: cell } : typeof cell === "string" ? { text: cell } : (cell ?? { text: "" });

/** A table of the report; its first column names the line. */
function table({ caption, columns, lines: given, notes }) {
  const number = tables++;
  const lines = given.map((line) => ({ ...line, cells: line.cells.map((cell, place) => shownCell(cell, columns[place + 1])) }));
  const [key, direction] = [state.sort?.replace(/:\w*$/, ""), state.sort?.match(/:(\w*)$/)?.[1]];
  const by = columns.findIndex((column) => keyOf(column) === key);
  const shown = lines.filter(isOn);
  const valueOf = (line) => (by === 0 ? line.name : (line.cells[by - 1]?.value ?? line.cells[by - 1]?.text));
  const ordered = by < 0 ? shown : sorted(shown, valueOf, direction === "up" ? 1 : -1);
  const opens = lines.some((line) => line.run);
  const grouped = columns.some((column) => column.group);
  const head = make(
    "tr",
    {},
    columns.map((column, place) => headCell(column, place, number, place === by ? direction : null)),
    opens ? make("th", { scope: "col" }, "details") : null,
  );
  const body = ordered.map((line) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, swatch(line.look ?? DATA.methods[line.method]), line.name),
      line.cells.map((cell, place) => bodyCell(cell, columns[place + 1])),
      opens ? make("td", {}, opener(line, caption)) : null,
    ),
  );
  return [
    scrolling(null, caption, make("thead", {}, grouped ? groupRow(columns) : null, head), make("tbody", {}, body)),
    notes.length ? make("ul", { class: "note legend" }, notes.map((note) => make("li", {}, note))) : null,
  ];
}

const keyOf = (column) => [column.group, column.title].filter(Boolean).join(" ");
const isFirst = (column) => Boolean(column.group) && column.title === "ours";
const classOf = (column) => [column.words ? null : "number", isFirst(column) ? "first" : null].filter(Boolean).join(" ");

function sorted(lines, valueOf, sign) {
  const known = (value) => value != null && value !== "–";
  return [...lines].sort((left, right) => {
    const [a, b] = [valueOf(left), valueOf(right)];
    if (!known(a) || !known(b)) return known(b) - known(a); // the unknown last, either way
    return sign * (typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
  });
}

function groupRow(columns) {
  const cells = [];
  for (const { group = "" } of columns) {
    if (cells.at(-1)?.group === group) cells.at(-1).colspan += 1;
    else cells.push({ group, colspan: 1 });
  }
  const cell = ({ group, colspan }) => make(group ? "th" : "td", { colspan, scope: group ? "colgroup" : null }, group);
  return make("tr", {}, cells.map(cell));
}

function headCell(column, place, number, direction) {
  const key = keyOf(column);
  const next = { down: `${key}:up`, up: null }[direction];
  const onclick = () => update({ sort: next === undefined ? `${key}:down` : next });
  const unseen = column.group ? make("span", { class: "unseen" }, ` ${column.group}`) : null;
  const button = make("button", { type: "button", id: `sort-${number || ""}${key}`, title: column.what, onclick }, column.title, unseen);
  const order = { up: "ascending", down: "descending" }[direction];
  return make("th", { scope: "col", "aria-sort": order, class: place ? classOf(column) : "row" }, button);
}

function bodyCell({ text, count, rank, differs, size }, column) {
  const marks = [null, "best", "runner-up"];
  return make(
    "td",
    { class: classOf(column) },
    make("span", { class: size ?? marks[rank ?? 0] }, text || "–"),
    differs ? make("span", { class: "star" }, "*") : null,
    count ? make("small", {}, ` ${count}`) : null,
    rank ? make("span", { class: "unseen" }, ` ${marks[rank]}`) : null,
  );
}

const scrolling = (kind, caption, ...parts) =>
  make(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    make("table", { class: kind }, make("caption", {}, make("span", {}, caption)), ...parts),
  );

/** Numbers in rows and columns: text by place, a share of the darkest shade, frames. */
function shadedTable(caption, corner, columns, rows, cellAt) {
  const head = columns.map((name) => make("th", { scope: "col", class: "number" }, name));
  const body = rows.map((name, row) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, name),
      columns.map((_, column) => {
        const { text, share = 0, frame } = cellAt(row, column);
        const cell = make("td", { class: ["number shade", frame].filter(Boolean).join(" ") }, text);
        cell.style.setProperty("--share", share);
        return cell;
      }),
    ),
  );
  const corners = make("th", { scope: "col", class: "row" }, corner);
  return scrolling("map", caption, make("thead", {}, make("tr", {}, corners, head)), make("tbody", {}, body));
}
