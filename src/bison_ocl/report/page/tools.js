"use strict";
/* The report page: state in the address's hash, one view at a time, drawn from one JSON object.
   Data enter the page as text, never as HTML; Plotly's labels, which know some tags, are escaped. */

const DATA = JSON.parse(byId("data").textContent);
const REFERENCE = "finetune";
const ALL = "all";

function byId(id) {
  return document.getElementById(id);
}

/** An element with attributes and children; a child that is a string becomes text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick" || name === "onchange") element[name] = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null));
  return element;
}

const unique = (values) => [...new Set(values)];
/** Text as Plotly shows it as it is: no tags, and no formulas between dollars. */
const plain = (text) => String(text).replace(/[&<>$]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const fixed = (value, digits = 1) =>
  value == null
    ? "–"
    : value
        .toFixed(digits)
        .replace(/^-(0\.?0*)$/, "$1")
        .replace("-", "−");
const spread = (pair) => (pair == null ? "–" : fixed(pair[0]) + (pair[1] == null ? "" : ` ± ${fixed(pair[1])}`));
const signed = (points) => (fixed(points).match(/^(−|0\.0)/) ? "" : "+") + fixed(points);
const digitsOf = (value) => (value >= 100 ? 0 : value >= 10 ? 1 : 2);
/** A time with three digits or so, its deviation to the same place. */
const measured = ([mean, std]) => fixed(mean, digitsOf(mean)) + (std == null ? "" : ` ± ${fixed(std, digitsOf(mean))}`);
const seconds = (value) => (value == null ? "–" : measured([value]));
const written = (value) =>
  value == null
    ? "–"
    : Array.isArray(value)
      ? value.join(" ")
      : typeof value === "object"
        ? JSON.stringify(value)
        : String(value);

const memoryName = (size) => (size >= 200 && size % 100 === 0 ? `${size / 1000}k` : String(size));
/** A row's name among those shown. */
const nameOf = (row) => (state.memory === ALL && row.memory ? `${row.name} · M = ${memoryName(row.memory)}` : row.name);
const labelOf = (method) => DATA.methods[method].name;
