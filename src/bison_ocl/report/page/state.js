/* What is shown: kept in the address's hash, so that a view can be linked. */

const ALL = "all";
const KEYS = ["item", "data", "memory", "methods", "view", "choice", "sort", "run"];
const state = {};

function readHash() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const key of KEYS) state[key] = given.get(key);
  state.methods = state.methods?.split(",") ?? null;
}

/** Make the state one that can be shown, whatever the hash said. */
function settle() {
  const within = (value, values) => (values.includes(value) ? value : (values[0] ?? null));
  const names = DATA.items.map((item) => item.name);
  state.item = within(state.item, names);
  state.data = within(state.data, unique(itemNow().places.map((place) => place.stream)));
  state.memory = within(state.memory, memories());
  if (state.methods) {
    const kept = methodsThere().filter((method) => state.methods.includes(method));
    state.methods = kept.length === methodsThere().length ? null : kept;
  }
  state.view = within(state.view, Object.keys(viewsThere()));
  state.choice = within(state.choice, choices());
}

function writeHash() {
  const needed = Object.entries(state).filter(([key, value]) => value != null && (key !== "choice" || value !== choices()[0]));
  history.replaceState(null, "", `#${new URLSearchParams(needed)}`);
}

function update(change) {
  Object.assign(state, change);
  settle();
  writeHash();
  render();
}

const itemNow = () => DATA.items.find((item) => item.name === state.item);
const placesOfData = () => itemNow().places.filter((place) => place.stream === state.data);
function memories() {
  const sizes = placesOfData().map((place) => place.memory);
  return sizes.length > 1 ? [...sizes, ALL] : sizes;
}
/** The places that are shown: one, or one per memory size. */
const places = () => placesOfData().filter((place) => state.memory === ALL || place.memory === state.memory);
const methodsThere = () => unique(places().flatMap((place) => place.methods));
const isOn = ({ method }) => !state.methods || !method || state.methods.includes(method);
const viewsThere = () => Object.assign({}, ...places().map((place) => place.views));
const viewsNow = () => places().flatMap((place) => place.views[state.view] ?? []);
/** What a view lets its reader choose: a metric, or nothing. */
const choices = () => unique(viewsNow().flatMap((view) => Object.keys(view.choices)));
