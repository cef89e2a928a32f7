// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";

// Elements and cells. Text from outside only ever becomes text, never markup.

// tag, {attribute or property: value}, children: elements, texts, lists of them; null and false are none
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class")
      element.className = value;
    else if (key in element && key !== "list")
      element[key] = value;
    else
      element.setAttribute(key, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return element;
}

// What nothing was measured of: never a 0, and why stands beside it.
function absent(reason) {
  return make("span", {class: "absent", title: reason || "not measured"}, "-");
}

function cellOf(text, reason) {
  return text === null ? absent(reason) : text;
}

// A long path is told apart by its end: where there is no room, its middle goes.
function labelOf(label) {
  const joint = label.lastIndexOf(" / ");
  const cut = joint > 0 ? joint + 2 : label.lastIndexOf("/", label.length - 2) + 1;
  if (cut === 0 || label.length < 24)
    return label;
  return make("span", {class: "path", title: label},
    make("span", {class: "begin"}, label.slice(0, cut)), make("span", {}, label.slice(cut)));
}

// A bar of a share from 0 to 1; a share that is there is seen, however small.
function bar(share, kind = "") {
  const fill = make("i", {class: "fill " + kind});
  fill.style.width = share > 0 ? `max(1px, ${Math.min(share, 1) * 100}%)` : "0";
  return make("span", {class: "bar", "aria-hidden": "true"}, fill);
}

// The same to both sides of a middle: fell to the left, grew to the right.
function balance(share, negative) {
  const element = bar(Math.min(share, 1) / 2, negative ? "fell" : "grew");
  element.classList.add("balance");
  return element;
}

// A table of few rows. A column: [title, class, cell(row), hint]. On a narrow screen each row is a
// paragraph, so cells know their titles.
function smallTable(label, columns, rows) {
  const heads = columns.map(([title, kind, , hint = ""]) =>
    make("th", {scope: "col", class: kind, title: hint}, title));
  const cells = (row) => columns.map(([title, kind, cell]) => make("td", {class: kind, "data-title": title}, cell(row)));
  return make("div", {class: "wide"}, make("table", {class: "small", "aria-label": label},
    make("thead", {}, make("tr", {}, heads)), make("tbody", {}, rows.map((row) => make("tr", {}, cells(row))))));
}

// A part of the page and its place in the navigation.
function part(id, short, title, ...children) {
  document.getElementById("nav").append(make("a", {href: "#" + id}, short));
  const section = make("section", {id, "aria-labelledby": id + "-title"},
    make("h2", {id: id + "-title"}, title), children);
  document.getElementById("main").append(section);
  return section;
}

function note(...children) {
  return make("p", {class: "note"}, ...children);
}

function plural(n, one) {
  return `${Number(n).toLocaleString("en")} ${one}${Number(n) === 1 ? "" : "s"}`;
}

function selectOf(label, id, choices, onChange) {
  const select = make("select", {id}, choices.map(([value, text]) => make("option", {value}, text)));
  select.addEventListener("change", () => onChange(select.value));
  return {select, field: make("label", {class: "field"}, label, " ", select)};
}

function checkbox(label, id, checked, onChange) {
  const input = make("input", {type: "checkbox", id, checked});
  input.addEventListener("change", () => onChange(input.checked));
  return make("label", {class: "switch"}, input, " " + label);
}
