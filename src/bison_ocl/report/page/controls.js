/* Choosing: item, dataset, memory, methods, view. */

function renderControls() {
  const streams = new Map(itemNow().places.map((place) => [place.stream, place.name]));
  options(byId("item"), DATA.items.map((item) => [item.name, item.title]), state.item);
  options(byId("data-choice"), [...streams], state.data);
  options(byId("memory"), memories().map((size) => [size, size]), state.memory);
  byId("methods").replaceChildren(...methodsThere().map(methodBox));
}

function options(list, pairs, chosen) {
  list.replaceChildren(...pairs.map(([value, text]) => make("option", { value, selected: value === chosen }, text)));
}

function methodBox(method, place) {
  const on = state.methods ?? methodsThere();
  const toggled = on.includes(method) ? on.filter((one) => one !== method) : [...on, method];
  const onchange = () => update({ methods: toggled });
  const box = make("input", { type: "checkbox", id: `method-${place}`, checked: on.includes(method), onchange });
  return make("label", {}, box, swatch(DATA.methods[method]), DATA.methods[method].name);
}

/** A dot in the colour of a line. */
function swatch(look) {
  const element = make("span", { class: look.dash === "solid" ? "swatch" : "swatch ring", "aria-hidden": "true" });
  element.style.setProperty("--colour", colourOf(look));
  return element;
}

function renderTabs() {
  const tabs = Object.entries(viewsThere()).map(([name, view]) => {
    const chosen = name === state.view;
    const attributes = { type: "button", role: "tab", id: `tab-${name}`, tabindex: chosen ? "0" : "-1" };
    const told = { "aria-selected": String(chosen), "aria-controls": "panel" };
    return make("button", { ...attributes, ...told, onclick: () => update({ view: name }) }, view.title);
  });
  byId("tabs").replaceChildren(...tabs);
}

function moveTab(event) {
  const names = Object.keys(viewsThere());
  const [here, last] = [names.indexOf(state.view), names.length - 1];
  const right = here === last ? 0 : here + 1;
  const left = here === 0 ? last : here - 1;
  const place = { ArrowRight: right, ArrowLeft: left, Home: 0, End: last }[event.key];
  if (place == null) return;
  event.preventDefault();
  update({ view: names[place] });
  byId(`tab-${state.view}`).focus();
}

/** The title of a view, its note, and what it lets its reader choose. */
function heading({ title, note }) {
  const list = make("select", { id: "choice", onchange: (event) => update({ choice: event.target.value }) });
  options(list, choices().map((name) => [name, name]), state.choice);
  return make(
    "div",
    { class: "heading" },
    make("div", {}, make("h2", {}, title), note ? make("p", { class: "note" }, note) : null),
    choices().length > 1 ? make("label", { class: "choice" }, "Metric", list) : null,
  );
}
