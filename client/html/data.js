// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";

// The data of the page: pieces of JSON in elements that are no scripts, as html-data.h describes them.

const CHANGED = 1, RESET = 2, APPROXIMATE = 4, APPROXIMATE_AFTER = 8, SIGNIFICANT = 16, RATE = 32;

// What a page can be about. names: of the two sides; compares: the sides are told apart, so that what
// counts is how much moved, and not how much was done.
const KINDS = {
  state: {names: []},
  interval: {names: ["BEFORE", "AFTER"]},
  totals: {names: ["BEFORE", "AFTER"], compares: true},
  intervals: {names: ["A", "B"], compares: true},
  sets: {names: ["BEFORE", "AFTER"], compares: true},
};
// Lists of groups, and which side they are of alone; A stands where BEFORE does.
const SIDE_OF_LIST = {groups: null, onlyBefore: "before", onlyAfter: "after", onlyA: "before", onlyB: "after"};

class Row {
  constructor(data, group, list) {
    const [name, flags, reason, ...values] = list;
    this.group = group;
    this.metric = typeof name === "number" ? data.metrics[name] : data.unknownMetric(name);
    this.changed = (flags & CHANGED) !== 0;
    this.reset = (flags & RESET) !== 0;
    this.approximate = {after: (flags & APPROXIMATE_AFTER) !== 0};
    this.approximate.value = this.approximate.before = (flags & APPROXIMATE) !== 0;
    this.isRate = (flags & RATE) !== 0;
    this.reason = data.reason(reason);
    if (!data.isPair)
      [this.value = null, this.present = null, this.spread = null] = values;
    else if (data.kind === "sets")
      this.setMedians(data, flags, values);
    else if (group.side)
      this.setOneSide(data, values);
    else
      [this.before = null, this.after = null, this.delta = null, this.percent = null, this.rate = null,
        this.spread = null, this.spreadBefore = null, this.work = null] = values;
    // Of an interval what was done in it: nothing is told of levels, and of a counter that was set back no delta.
    this.moved ??= data.kind === "interval" ? (this.metric.counter ? this.work : null) : data.isPair ? this.delta : this.value;
    this.absent = data.isPair ? this.before === null && this.after === null : this.value === null;
  }

  // The other side has no such group, which is not "did nothing": there is no difference.
  setOneSide(data, [value = null, , spread = null]) {
    const {side} = this.group;
    Object.assign(this, {before: null, after: null, delta: null, percent: null, rate: null, work: null,
      spread: null, spreadBefore: null});
    this[side] = value;
    this[side === "before" ? "spreadBefore" : "spread"] = spread;
    this.approximate.after = this.approximate.before;
    this.changed = isNumber(value) && Number(value) !== 0;
    // All that a newcomer has it did in the interval; what the ended did there, nobody saw.
    if (isNumber(value) && side === "after")
      this.moved = value;
    else if (isNumber(value) && data.sides.compares)
      this.moved = typeof value === "number" ? -value : String(-BigInt(value));
  }

  setMedians({info}, flags, [before = null, after = null, delta = null, percent = null, p = null, adjusted = null]) {
    this.quartiles = {before, after};
    this.before = before?.median ?? null;
    this.after = after?.median ?? null;
    Object.assign(this, {delta, percent, p, adjusted, rate: null, spread: null});
    this.significant = (flags & SIGNIFICANT) !== 0;
    this.changed = this.significant;
    this.untested = isUntested(info);
  }
}

class Data {
  constructor() {
    this.info = {};
    this.settings = {};
    this.metrics = [];
    this.reasons = [];
    this.lists = {groups: [], onlyBefore: [], onlyAfter: []};
    this.sections = {};
    this.complete = false;
    this.kind = "state";
  }

  get sides() {
    return KINDS[this.kind];
  }

  // What a column of one side is called.
  titleOf(side) {
    return this.kind === "intervals" ? this.sides.names[side === "before" ? 0 : 1] : side;
  }

  get isPair() {
    return this.kind !== "state";
  }

  // A registry newer than this page: there is no more to say than the name.
  unknownMetric(name) {
    let metric = this.metrics.find((known) => known.name === name);
    if (!metric) {
      metric = {name, unit: "none", section: "", text: "", index: this.metrics.length};
      this.metrics.push(metric);
    }
    return metric;
  }

  reason(reason) {
    if (typeof reason === "number")
      return this.reasons[reason];
    if (typeof reason === "string")
      this.reasons.push(reason);
    return Array.isArray(reason) ? reason[0] : reason;
  }

  add(item) {
    for (const [kind, value] of Object.entries(item)) {
      if (kind === "metrics") {
        this.metrics = value.map((metric, index) => ({...metric, index}));
      } else if (kind === "settings") {
        this.settings = value;
      } else if (kind === "sections") {
        for (const [name, rows] of Object.entries(value)) {
          const all = this.sections[name] ??= [];
          for (const row of rows)
            all.push(row);
        }
      } else if (kind in SIDE_OF_LIST) {
        for (const group of value)
          this.addGroup(kind, group);
      } else {
        this.addInfo(value);
        this.complete ||= kind === "end";
      }
    }
  }

  addInfo(members) {
    for (const [key, value] of Object.entries(members))
      if (value !== null)
        this.info[key] = value;
    if (this.info.kind in KINDS)
      this.kind = this.info.kind;
    else if (this.info.before !== undefined)
      this.kind = Array.isArray(this.info.before) ? "sets" : "totals";
  }

  addGroup(list, group) {
    group.side = SIDE_OF_LIST[list];
    if (this.kind === "sets" && (group.threadsBefore === 0 || group.threadsAfter === 0))
      group.side = group.threadsBefore === 0 ? "after" : "before";
    group.label = commandLabel(group);
    group.search = [group.label, ...(group.commands ?? []).map(({name}) => printable(name))].join("\n").toLowerCase();
    group.rows = group.rows.map((row) => new Row(this, group, row));
    group.byName = new Map(group.rows.map((row) => [row.metric.name, row]));
    this.lists[{before: "onlyBefore", after: "onlyAfter"}[SIDE_OF_LIST[list]] ?? "groups"].push(group);
    this.all = null;
  }

  // All groups, those of one side among the others: the heaviest first, unless another order was asked for.
  get groups() {
    if (this.all)
      return this.all;
    this.all = Object.values(this.lists).flat();
    // The sort is stable: what weighs the same stays as it came.
    if (/^weight\b|^$/.test(this.settings.view?.sortBy ?? ""))
      this.all.sort((a, b) => weightOf(b) - weightOf(a));
    return this.all;
  }

  // How long each side took, where it is an interval: [A, B] or one.
  get spans() {
    const {a, b, elapsedNs} = this.info;
    return this.kind === "intervals" ? [a?.elapsedNs, b?.elapsedNs] : this.kind === "interval" ? [elapsedNs] : [];
  }
}

// How much a group matters, or how much it moved, as a share of what the host could do; below all others
// where that is not known.
function weightOf({weight}) {
  return weight === null || weight === undefined ? -1 : Math.abs(weight);
}

// Each piece goes once it is read, so that the text is not kept beside what it says.
function readData() {
  const data = new Data();
  for (const element of document.querySelectorAll("script.data")) {
    for (const item of JSON.parse(element.textContent))
      data.add(item);
    element.remove();
  }
  return data;
}

// Names of threads and cgroups are bytes. Those that are not UTF-8, and control bytes in keys, come as
// U+EF00 + byte; they, and characters that are not seen or turn others around, are shown as \xNN.
const HIDDEN = new RegExp("[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5" +
  "\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb" +
  "\\uef01-\\uef1f\\uef7f-\\uefff\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]", "gu");

function printable(text) {
  const hex = (byte) => "\\x" + byte.toString(16).padStart(2, "0");
  return String(text).replace(HIDDEN, (character) => {
    const code = character.codePointAt(0);
    return code >= 0xef00 && code <= 0xefff ? hex(code - 0xef00)
      : Array.from(new TextEncoder().encode(character), hex).join("");
  });
}

// As group_label_append() of the tables.
function groupLabel(group) {
  if (group.ended || group.tid !== undefined && group.tid !== null) {
    const process = group.process && group.process !== group.thread ? printable(group.process) + "/" : "";
    return `${process}${printable(group.thread ?? "")}[${group.ended ? "ended" : group.tid}]`;
  }
  if (group.key === "")
    return group.process !== undefined || group.thread !== undefined ? '""' : "(unknown)";
  return group.key.split("\u001f").map(printable).join(" / ");
}

// As group_label_append_commands(), with the key alone where the command tells nothing more.
function commandLabel(group) {
  const label = groupLabel(group), commands = group.commands ?? [];
  if (!commands.length || group.process === undefined || group.thread !== undefined || group.cgroup !== undefined)
    return label;
  if (commands.length > 2 || group.commandsOmitted)
    return `${label} \u00d7${commands.length}${group.commandsOmitted ? "+" : ""}`;
  const isCalled = (name) => name === group.process || group.process.length >= 15 && name.startsWith(group.process);
  const news = commands.map(({name}) => isCalled(name) || isCalled(name.slice(name.indexOf(" ") + 1)) ? ""
    : name.startsWith(group.process + " ") ? name.slice(group.process.length + 1) : name);
  if (commands.length === 1 && news[0] !== commands[0].name)
    return news[0] ? `${label} ${printable(news[0])}` : label;
  return `${label} (${news.map((text, i) => printable(text || commands[i].name)).join(", ")})`;
}

// The names in one of its lists, with the threads that have them: "members", or "commands".
function namesOf(group, list) {
  const omitted = group[list + "Omitted"];
  return (group[list] ?? []).map(({name, threads}) => `${printable(name)} (${threads})`).join(", ") +
    (omitted ? ` and ${plural(omitted, "more thread")}` : "");
}

// The totals of each metric over all groups of the page, for shares: rounding does not show in a bar.
// Of an interval it is the work that counts, which is never less than nothing.
function sumMetrics({groups, kind}) {
  const totals = new Map();
  for (const group of groups)
    for (const row of group.rows) {
      if (!row.metric.sum)
        continue;
      const total = totals.get(row.metric) ?? {before: 0, after: 0};
      totals.set(row.metric, total);
      if (kind !== "interval")
        total.before += Number(row.before ?? 0);
      total.after += kind === "interval" ? Math.max(0, Number(row.moved ?? 0)) : Number(row.after ?? row.value ?? 0);
    }
  return totals;
}

// Below this a change is none to speak of, whatever its share.
const FLOORS = {ns: 1e9, ticks: 100, bytes: 1048576, count: 1000};

// How much of all there was of a metric moved in a group: the order "impact" of --sort-by.
function impactOf(row, totals) {
  const total = totals.get(row.metric);
  if (!total || !isNumber(row.moved))
    return null;
  return Math.abs(Number(row.moved)) / Math.max(total.before, total.after, FLOORS[row.metric.unit] ?? 1000);
}

const SHARE_HINT = "The share of all there was of the metric in this page, " +
  "counted as at least 1 s, 100 ticks, 1 MiB or 1,000 events";
const IMPACT_HINT = SHARE_HINT.replace("The share of", "The change as a share of");

// Shares are of doubles: no more digits than they have.
function formatShare(share) {
  return share === null ? "" : share === 0 ? "0%" : share < 0.0005 ? "<0.1%" : (share * 100).toFixed(1) + "%";
}

// What moved has a sign.
function formatWeight(weight, {sides}) {
  if (!isNumber(weight))
    return null;
  return (sides.compares && weight > 0 ? "+" : weight < 0 ? "-" : "") + formatShare(Math.abs(weight));
}
