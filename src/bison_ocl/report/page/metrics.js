/* Metrics: their columns in tables, ours beside the paper's, best and runner-up marked. */

const MEANINGS = {
  AA: "average accuracy after the last task",
  AF_table: "forgetting as the paper's tables count it: all tasks, best at any time",
  AF: "forgetting by the paper's formula: tasks before the last, may be negative",
  AI: "intransigence: how much worse tasks are learned than by FINE-TUNE",
  A_AUC: "accuracy on the way, where tasks share classes",
};
const METRICS = Object.fromEntries(
  DATA.metrics.map(([name, title, better]) => [
    name,
    { title, sign: better === "higher" ? 1 : -1, what: MEANINGS[name] },
  ]),
);
const RUN_METRICS = Object.keys(METRICS); // in the order of run.metrics
const COSTS = DATA.costs.map(([name, label, unit]) => ({ name, title: unit ? `${label} (${unit})` : label })); // of run.costs
const [CLOSE, NEAR] = DATA.distances; // differences from the paper, in points

function metricColumns(name, rows) {
  const { title } = METRICS[name],
    value = (row) => row.metrics[name]?.[0];
  const printed = rows.some((row) => row.paper?.[name]);
  const rank = ranks(rows, name);
  const ours = {
    ...numberColumn(name, printed ? "ours" : title, value, (_, row) => rankedCell(row, name, rank.get(row))),
    what: METRICS[name].what,
    group: printed ? title : undefined,
    first: true,
  };
  if (!printed) return [ours];
  const paper = (row) => row.paper?.[name]?.[0];
  const difference = (row) => (value(row) == null || paper(row) == null ? null : value(row) - paper(row));
  return [
    ours,
    { ...numberColumn(`${name}-paper`, "paper", paper, (_, row) => spread(row.paper?.[name])), group: title },
    {
      ...numberColumn(`${name}-difference`, "diff.", difference, (points) =>
        points == null ? "–" : make("span", { class: distance(points) }, signed(points)),
      ),
      group: title,
    },
  ];
}

const distance = (points) => (Math.abs(points) <= CLOSE ? "close" : Math.abs(points) <= NEAR ? "near" : "far");

/** Best and runner-up among the rows of a memory; equal ones share a rank. */
function ranks(rows, name) {
  const found = new Map();
  const ranked = rows.filter((row) => row.metrics[name] && row.method !== REFERENCE);
  for (const memory of unique(ranked.map((row) => row.memory))) {
    const there = ranked.filter((row) => row.memory === memory);
    const values = unique(there.map((row) => row.metrics[name][0])).sort((a, b) => METRICS[name].sign * (b - a));
    if (values.length < 2) continue;
    for (const row of there) found.set(row, ["best", "second"][values.indexOf(row.metrics[name][0])]);
  }
  return found;
}

function rankedCell(row, name, rank) {
  const found = row.metrics[name];
  if (!found) return "–";
  const over =
    name === "AI" && found[3] != null
      ? make("small", { title: "standard deviation over tasks, as the paper prints it" }, ` / ${fixed(found[3])}`)
      : null;
  const said = { best: " best", second: " runner-up" }[rank];
  return [
    make("span", { class: rank }, spread(found)),
    over,
    row.differs?.includes(name) ? make("span", { class: "star", title: `p < ${DATA.level}` }, "*") : null,
    said ? make("span", { class: "unseen" }, said) : null,
  ];
}

function legendOfMetrics(metrics, rows) {
  const main = rows.find((row) => row.main);
  const said = [
    ...metrics.map((name) => `${METRICS[name].title}: ${METRICS[name].what}.`),
    metrics.includes("AI") && "AI's second ± is over tasks, as the paper's is.",
    rows.some((row) => row.paper) &&
      `Paper: as printed; diff.: ours less the paper's, green up to ${CLOSE} point, amber up to ${NEAR}, red beyond.`,
    rows.some((row) => row.differs) &&
      `*: differs from ${main?.name ?? "the main method"}, p < ${DATA.level} (paired sign-flip test over common seeds, Holm over all methods).`,
  ];
  return said.filter(Boolean).join(" ");
}
