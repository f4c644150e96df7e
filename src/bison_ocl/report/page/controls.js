/* Choosing: item, dataset, memory, methods, view. */

function renderControls() {
  options(
    "item",
    DATA.items.map((item) => [item.name, item.title]),
    state.item,
  );
  options(
    "data-choice",
    places().map((place) => [placeKey(place), place.name]),
    state.data,
  );
  options(
    "memory",
    memories().map((size) => [size, size === ALL ? "all" : memoryName(Number(size))]),
    state.memory,
  );
  byId("methods").replaceChildren(...methodsThere().map(methodBox));
}

function options(id, pairs, chosen) {
  byId(id).replaceChildren(...optionsOf(pairs, chosen));
}

const optionsOf = (pairs, chosen) =>
  pairs.map(([value, text]) => make("option", { value, selected: value === chosen }, text));

function methodBox(method, place) {
  const checked = !state.methods || state.methods.includes(method);
  const box = make("input", {
    type: "checkbox",
    id: `method-${place}`,
    value: method,
    checked,
    onchange: () => toggleMethod(method),
  });
  return make("label", {}, box, swatch(DATA.methods[method]), labelOf(method));
}

function toggleMethod(method) {
  const on = state.methods ?? methodsThere();
  update({ methods: on.includes(method) ? on.filter((one) => one !== method) : [...on, method] });
}

/** A dot in the colour of a row or a method. */
function swatch(look) {
  const element = make("span", { class: look.dash === "solid" ? "swatch" : "swatch ring", "aria-hidden": "true" });
  element.style.setProperty("--colour", colourOf(look));
  return element;
}

function renderTabs() {
  const views = viewsThere();
  byId("tabs").replaceChildren(
    ...views.map(([name, view]) => {
      const chosen = name === state.view;
      return make(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${name}`,
          "aria-selected": String(chosen),
          "aria-controls": "panel",
          tabindex: chosen ? "0" : "-1",
          onclick: () => update({ view: name }),
        },
        view.title,
      );
    }),
  );
}

function moveTab(event) {
  const names = viewsThere().map(([name]) => name);
  const here = names.indexOf(state.view),
    last = names.length - 1;
  const places = {
    ArrowRight: here === last ? 0 : here + 1,
    ArrowLeft: here === 0 ? last : here - 1,
    Home: 0,
    End: last,
  };
  if (!(event.key in places)) return;
  event.preventDefault();
  update({ view: names[places[event.key]] });
  byId(`tab-${state.view}`).focus();
}

function heading(title, note, ...choices) {
  return make(
    "div",
    { class: "heading" },
    make("div", {}, make("h2", {}, title), note ? make("p", { class: "note" }, note) : null),
    ...choices,
  );
}

function chooser(id, title, pairs, chosen, change) {
  const list = make("select", { id, onchange: (event) => change(event.target.value) });
  list.append(...optionsOf(pairs, chosen));
  return make("label", { class: "choice" }, title, list);
}
