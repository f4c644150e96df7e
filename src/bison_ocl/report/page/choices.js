"use strict";
/* What is shown: chosen in the controls, kept in the address's hash so that a view can be linked. */

const ALL = "all";
const state = {};
const byId = (id) => document.getElementById(id);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const unique = (values) => [...new Set(values)];
const places = all("article");

function readHash() {
  for (const key of Object.keys(state)) delete state[key];
  Object.assign(state, Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
}

function update(change) {
  Object.assign(state, change);
  show();
  const known = Object.entries(state).filter(([, value]) => value != null);
  history.replaceState(null, "", `#${new URLSearchParams(known)}`);
}

/** Fill a list with [value, text] pairs; the wanted value is chosen if it is there, else the first. */
function choose(id, pairs, wanted) {
  const list = byId(id);
  list.replaceChildren(...pairs.map(([value, text]) => new Option(text, value)));
  list.value = pairs.some(([value]) => value === wanted) ? wanted : pairs[0]?.[0];
  return list.value;
}

/** The places on the chosen stream of the chosen item: one per memory size. */
function placesThere() {
  const pairs = (places, value, text) => [...new Map(places.map(({ dataset }) => [dataset[value], dataset[text]]))];
  state.item = choose("item", pairs(places, "item", "title"), state.item);
  const ofItem = places.filter(({ dataset }) => dataset.item === state.item);
  state.data = choose("data", pairs(ofItem, "data", "name"), state.data);
  return ofItem.filter(({ dataset }) => dataset.data === state.data);
}

/** Show what was chosen, whatever the hash said. */
function show() {
  const there = placesThere();
  const sizes = there.map(({ dataset }) => dataset.memory);
  state.memory = choose("memory", [...sizes, ...(sizes.length > 1 ? [ALL] : [])].map((size) => [size, size]), state.memory);
  const shown = there.filter(({ dataset }) => [ALL, dataset.memory].includes(state.memory));
  const methods = unique(shown.flatMap(({ dataset }) => JSON.parse(dataset.methods)));
  const wanted = state.methods?.split(",").filter((method) => methods.includes(method));
  const on = wanted ?? methods;
  state.methods = on.length === methods.length ? null : on.join(",");
  for (const box of all("#methods input")) {
    box.checked = on.includes(box.value);
    box.parentElement.hidden = !methods.includes(box.value);
  }
  const views = all("#views input");
  const view = views.find((radio) => radio.value === state.view) ?? views[0];
  view.checked = true;
  state.view = view.value;
  for (const place of places) place.hidden = !on.length || !shown.includes(place);
  for (const part of all("#panel [data-view]")) part.hidden = part.dataset.view !== state.view;
  const choices = unique(shown.flatMap((place) => all(`[data-view="${view.value}"] [data-choice]`, place)).map((part) => part.dataset.choice));
  state.choice = choose("choice", choices.map((name) => [name, name]), state.choice);
  byId("choice").parentElement.hidden = choices.length < 2;
  document.querySelector(".empty").hidden = on.length > 0;
  fillRuns();
  for (const place of shown) {
    for (const part of all("[data-choice]", place)) part.hidden = part.dataset.choice !== state.choice;
    for (const part of all("[data-method]", place)) part.hidden = !on.includes(part.dataset.method);
  }
  drawCharts(on);
  showRun();
}
