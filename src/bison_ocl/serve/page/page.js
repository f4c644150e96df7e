// Ask the server for its numbers every two seconds, and show them. It computes no statistics.

const EVERY = 2000; // milliseconds
const [WIDTH, HEIGHT] = [800, 240];
const at = (id) => document.getElementById(id);
const whole = (number) => number.toLocaleString("en");
const percent = (share) => (share === null ? "–" : `${(100 * share).toFixed(1)} %`);

function element(name, contents, attributes = {}) {
  const made = document.createElement(name);
  made.append(...[contents].flat());
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  return made;
}

function drawn(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  return made;
}

function numbers(now) {
  const shown = {
    "accuracy": percent(now.accuracy),
    "last 1,000": percent(now.recent),
    "images tested": whole(now.tested),
    "steps": whole(now.steps),
    "classes": whole(now.classes.length),
    "loss": now.loss === null ? "–" : now.loss.toPrecision(3),
  };
  return Object.entries(shown).map(([name, value]) =>
    element("div", [element("dt", name), element("dd", value)]));
}

// Points over the number of images, because requests come at uneven times.
function line(history, place, kind) {
  const [first, last] = [history[0][1], history.at(-1)[1]];
  const points = history.map((point) => {
    const x = WIDTH * (last > first ? (point[1] - first) / (last - first) : 1);
    return `${x.toFixed(1)},${(HEIGHT * (1 - point[place])).toFixed(1)}`;
  });
  return drawn("polyline", { class: kind, points: points.join(" ") });
}

function chart(history) {
  at("figure").hidden = history.length === 0;
  at("nothing").hidden = history.length > 0;
  if (!history.length) return;
  const rules = [0, 0.25, 0.5, 0.75, 1].map((share) =>
    drawn("line", { x1: 0, x2: WIDTH, y1: HEIGHT * share, y2: HEIGHT * share }));
  at("chart").replaceChildren(...rules, line(history, 2, "all"), line(history, 3, "recent"));
  const [, to, all, recent] = history.at(-1);
  at("chart").setAttribute("aria-label",
    `Accuracy ${percent(all)} over all images, ${percent(recent)} over the last 1,000`);
  at("from").textContent = `image ${whole(history[0][1])}`;
  at("to").textContent = `image ${whole(to)}`;
}

function classes(now) {
  return now.classes.map((one) => element("tr", [
    element("td", one.label),
    element("td", whole(one.tested), { class: "number" }),
    element("td", percent(one.accuracy), { class: "number" }),
    element("td", whole(one.stored), { class: "number" }),
  ]));
}

function show(now) {
  document.title = `${now.file} – bison-ocl`;
  at("title").textContent = now.file;
  at("about").textContent = `${now.method}, ${whole(now.waiting)} ${now.waiting === 1 ? "image" : "images"} waiting for a batch`;
  at("numbers").replaceChildren(...numbers(now));
  chart(now.history);
  const { stored, capacity } = now.memory;
  at("fill").textContent = `The memory holds ${whole(stored)} of ${whole(capacity)} images.`;
  at("memory").max = capacity || 1;
  at("memory").value = stored;
  at("classes").replaceChildren(...classes(now));
  at("asking").hidden = true;
  at("shown").hidden = false;
  const seconds = Math.max(0, Math.round(Date.now() / 1000 - now.saved));
  const failed = now.failed_saves ? `, ${whole(now.failed_saves)} saves failed` : "";
  state(`live, saved ${whole(seconds)} s ago${failed}`, Boolean(now.failed_saves));
}

function state(words, lost) {
  at("state").textContent = words;
  at("state").classList.toggle("lost", lost);
}

function ask(token) {
  at("about").textContent = "This server asks for a token.";
  at("wrong").hidden = !token;
  at("asking").hidden = false;
  at("shown").hidden = true;
  state("", false);
  sessionStorage.removeItem("token");
}

async function look() {
  const token = sessionStorage.getItem("token");
  try {
    const headers = token ? { authorization: `Bearer ${token}` } : {};
    const answer = await fetch("status", { headers });
    if (answer.status === 401) return ask(token); // the form calls again
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    show(await answer.json());
  } catch (error) {
    state(`no answer (${error.message}); trying again`, true);
  }
  setTimeout(look, EVERY);
}

at("asking").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", at("token").value);
  look();
});
look();
