/* What is shown: kept in the address's hash, so that a view can be linked. */

const state = {
  item: null,
  data: null,
  memory: null,
  methods: null,
  view: null,
  metric: null,
  af: null,
  sort: null,
  run: null,
};

function readHash() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const key of Object.keys(state)) state[key] = given.get(key);
  state.methods = state.methods == null ? null : state.methods.split(",");
}

/** Make the state one that can be shown, whatever the hash said. */
function settle() {
  const within = (value, values, otherwise = values[0]) => (values.includes(value) ? value : otherwise);
  state.item = within(
    state.item,
    DATA.items.map((item) => item.name),
  );
  state.data = within(state.data, places().map(placeKey));
  state.memory = within(state.memory, memories());
  if (state.methods) {
    const kept = methodsThere().filter((method) => state.methods.includes(method));
    state.methods = kept.length === methodsThere().length ? null : kept;
  }
  state.view = within(
    state.view,
    viewsThere().map(([name]) => name),
  );
  state.metric = within(state.metric, metricsThere(rowsOfData()));
  state.af = within(state.af, ["AF_table", "AF"]);
}

function writeHash() {
  const kept = Object.entries(state).filter(([, value]) => value != null);
  const defaults = { metric: "AA", af: "AF_table" };
  const needed = kept.filter(([key, value]) => defaults[key] !== value);
  const hash = new URLSearchParams(needed.map(([key, value]) => [key, Array.isArray(value) ? value.join(",") : value]));
  history.replaceState(null, "", `#${hash}`);
}

function update(change) {
  Object.assign(state, change);
  settle();
  writeHash();
  render();
}

const itemNow = () => DATA.items.find((item) => item.name === state.item);
const places = () => unique(itemNow().rows.map((row) => row.place)).map((place) => DATA.places[place]);
/** A place as the hash names it: the dataset, and what is unusual about its stream. */
const placeKey = (place) =>
  [place.data, ...Object.values(place.options), ...(place.stream === DATA.stream ? [] : [place.stream])].join(" ");
const placeNow = () => places().find((place) => placeKey(place) === state.data);
const rowsOfData = () => itemNow().rows.filter((row) => DATA.places[row.place] === placeNow());
function memories() {
  const sizes = unique(rowsOfData().map((row) => row.memory))
    .filter((size) => size > 0)
    .sort((a, b) => a - b)
    .map(String);
  return sizes.length > 1 ? [...sizes, ALL] : sizes.length ? sizes : ["0"];
}
/** Rows of the chosen memory; a method that keeps none (FINE-TUNE) belongs to every choice. */
const rowsOfMemory = () =>
  rowsOfData().filter((row) => state.memory === ALL || row.memory === 0 || String(row.memory) === state.memory);
const methodsThere = () => unique(rowsOfMemory().map((row) => row.method));
const shown = () => rowsOfMemory().filter((row) => !state.methods || state.methods.includes(row.method));
const metricsThere = (rows) => Object.keys(METRICS).filter((name) => rows.some((row) => row.metrics[name]));
