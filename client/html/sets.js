// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";

// Two sets of captures: the medians of both sides, how far their samples scatter, and which differences
// are more than chance.

const SET_GROUPS_SHOWN = 24;
// Medians of rates; a time of each second is a number of CPUs.
const SET_RATES = [
  ["running", "runningNs", "CPUs: seconds in each second"],
  ["waiting", "waitingNs", "For a CPU; seconds in each second"],
  ["storage", "storageNs", "Blocked on storage; seconds in each second"],
  ["read", "readBytes", "read_bytes"],
  ["written", "writeBytes", "write_bytes"],
];

// The captures are too few for any test, however the samples had fallen to the sides.
function isUntested({alpha, tested, significant, leastP}) {
  return Number(significant) === 0 && !(Number(tested) * leastP < alpha);
}

function verdictOf(row) {
  return row.significant ? "significant" : row.adjusted === null || row.untested ? "not tested" : "not significant";
}

class SetMedians {
  constructor(page) {
    this.page = page;
    this.rows = page.data.groups.filter(({rates}) => rates);
    this.body = make("div");
    if (this.rows.length > 0)
      part("groups", "Groups", "Groups by weight", this.body);
    this.draw();
  }

  formatRate(value, key) {
    if (!isNumber(value))
      return "-";
    if (this.page.raw || value === 0)
      return String(value);
    return key.endsWith("Ns") ? withPoint(roundTo(...exactly(value / 1e9), 2), 2, false)
      : formatQuantity(value, "bytes", {derived: true}) + "/s";
  }

  rateColumn([title, key, hint]) {
    // Of a group of one side there is one number.
    return [title, "number", ({rates: {before, after}}) => {
      const texts = [before, after].filter(Boolean).map((side) => this.formatRate(side[key], key));
      return texts.every((text) => text === "-") ? absent("no window has it") : [...new Set(texts)].join(" → ");
    }, hint];
  }

  draw() {
    const {page} = this, {data} = page, shown = this.rows.slice(0, SET_GROUPS_SHOWN);
    const most = shown.reduce((size, group) => Math.max(size, weightOf(group)), 0) || 1;
    const isTested = Number(data.info.tested) > 0 && !isUntested(data.info);
    const found = (group) => group.rows.filter(({significant}) => significant).length;
    const columns = [
      groupColumn(page, () => ""),
      ["weight", "number", (group) => cellOf(formatWeight(group.weight, data), "not known"),
        "By how much its share of the host moved: of the time of all CPUs, or of what storage moved"],
      ["", "graph", (group) => balance(Math.max(weightOf(group), 0) / most, group.weight < 0)],
      ...SET_RATES.filter(([, key]) => shown.some(({rates: {before, after}}) => isNumber(before?.[key]) || isNumber(after?.[key])))
        .map((rate) => this.rateColumn(rate)),
      ["significant", "number", (group) => found(group) > 0 ? String(found(group)) : group.side || !isTested ? "not tested" : "0",
        "Rows that differ by more than chance"],
    ].map(([title, kind, cell, hint]) => [title, kind, kind === "name" ? (group) => cell({group}) : cell, hint]);
    this.body.replaceChildren(smallTable("Groups by weight", columns, shown),
      note("Medians of rates, BEFORE → AFTER. Bars to the left fell, to the right grew. " +
        "A group that only one side has is not tested. " + page.cut()));
  }
}

// Where the middle half of the samples of both sides lies, between the least and the largest of all.
function scatterOf({quartiles: {before, after}}) {
  const sides = [before, after].filter(Boolean);
  const low = Math.min(...sides.map(({min}) => min)), width = Math.max(...sides.map(({max}) => max)) - low;
  if (!(width > 0))
    return "";
  const at = (value) => (value - low) / width * 100;
  return make("span", {class: "scatter", "aria-hidden": "true"}, [before, after].map((side) => {
    const line = make("span", {class: "samples"});
    if (side) {
      const box = make("i", {class: "half"}), tick = make("i", {class: "median"});
      box.style.left = at(side.q1) + "%";
      box.style.width = `max(2px, ${at(side.q3) - at(side.q1)}%)`;
      tick.style.left = `min(calc(100% - 2px), ${at(side.median)}%)`;
      line.append(box, tick);
    }
    return line;
  }));
}

// The columns of the table of all metrics.
function setColumns(table) {
  const {page} = table;
  const rate = (row, value) => page.format(value ?? null, row.metric, {rate: row.isRate});
  const median = (key) => table.numbers(key, (row) => row[key], (row) => page.formatSide(row, key), (row) => whyAbsent(row, key),
    {hint: "The median of the samples of this side"});
  const half = (key) => table.numbers(`${key} q1..q3`, (row) => row.quartiles[key]?.q1 ?? null, (row) => {
    const {n, q1, q3} = row.quartiles[key] ?? {n: 0};
    return n > 1 ? `${rate(row, q1)}..${rate(row, q3)}` : null;
  }, () => "fewer than two samples", {hint: "The middle half of the samples lies between these", most: 32});
  const p = (value) => value === null ? null : value < 0.0001 ? "<0.0001" : value.toPrecision(2);
  return [
    median("before"), half("before"), median("after"), half("after"),
    {title: "samples", width: 14, order: () => null, cell: (row) => scatterOf(row), hint: "Upper: BEFORE, lower: AFTER; the middle half and the median"},
    table.numbers("delta", (row) => row.delta, (row) => page.formatDelta(row), whyNoDelta),
    table.percents(),
    {title: "p (adj)", number: true, width: 10, order: (row) => row.adjusted, cell: (row) => cellOf(p(row.adjusted), row.reason)},
    {title: "n", number: true, width: 6, order: (row) => row.quartiles.after?.n ?? 0,
      cell: ({quartiles}) => `${quartiles.before?.n ?? 0}+${quartiles.after?.n ?? 0}`},
    {title: "verdict", width: 15, cell: (row) => verdictOf(row)},
  ];
}

// What is told of a chosen row.
function setFacts(row, exactly) {
  const side = (of) => of ? `median ${exactly(of.median)}, middle half ${exactly(of.q1)} to ${exactly(of.q3)}, ` +
    `${exactly(of.min)} to ${exactly(of.max)}, ${plural(of.n, "sample")}` : "no samples";
  return [["before", side(row.quartiles.before)], ["after", side(row.quartiles.after)],
    ["delta", isNumber(row.delta) && plainNumber(row.delta, true)],
    ["p", isNumber(row.p) && String(row.p)], ["adjusted", isNumber(row.adjusted) && String(row.adjusted)],
    ["verdict", verdictOf(row)], ["per second", row.isRate && "yes: rates of the work between captures"]];
}
