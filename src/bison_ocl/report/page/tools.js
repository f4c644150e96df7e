"use strict";
/* The report page: state in the address's hash, one view at a time, shown from one JSON object.
   Data enter the page as text, never as HTML; Plotly's labels, which know some tags, are escaped. */

const DATA = JSON.parse(byId("data").textContent);

function byId(id) {
  return document.getElementById(id);
}

/** An element with attributes and children; a child that is a string becomes text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element[name] = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null));
  return element;
}

const unique = (values) => [...new Set(values)];
/** Text as Plotly shows it as it is: no tags, and no formulas between dollars. */
const plain = (text) =>
  String(text)
    .replace(/[&<>$]/g, (sign) => `&#${sign.charCodeAt(0)};`)
    .replaceAll("\n", "<br>");
