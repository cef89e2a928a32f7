// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";

// The page from top to bottom.

class Page {
  constructor(data) {
    this.data = data;
    this.raw = Boolean(data.settings.raw);
    this.grids = [];
    this.totals = sumMetrics(data);
  }

  // The text of a VALUE; null where there is none. form: {signed: a delta, rate: per second}
  format(value, metric, {signed = false, rate = false} = {}) {
    if (value === null || value === undefined)
      return null;
    if (this.raw)
      return signed ? plainNumber(value, true) : formatValue(value, metric, true);
    if (rate && isNumber(value))
      return formatQuantity(value, metric.unit, {signed, derived: true}) + "/s";
    return signed ? formatQuantity(value, metric.unit, {signed, derived: metric.derived}) : formatValue(value, metric, false);
  }

  // The "before", "after" or "value" of a row.
  formatSide(row, key) {
    const text = this.format(row[key], row.metric, {rate: row.isRate});
    return text !== null && !this.raw && row.approximate[key] ? "~" + text : text;
  }

  formatDelta({before, after, delta, metric, isRate}) {
    if (metric.momentary)
      return null;
    if (before?.mode !== undefined && after?.mode !== undefined)
      return before.mode === after.mode ? "same" : "differs";
    return this.format(delta, metric, {signed: true, rate: isRate});
  }

  // "before → after", once where they are equal.
  formatBoth(row) {
    const before = this.formatSide(row, "before"), after = this.formatSide(row, "after");
    return before === null && after === null ? null : before === after ? after : `${before ?? "-"} → ${after ?? "-"}`;
  }

  // What a group did of a metric in an interval; of a level what it was at the end, and where it differs
  // what it was before.
  formatDone(row) {
    if (row.metric.derived)
      return this.format(row.work, row.metric);
    return row.metric.counter ? this.format(row.moved, row.metric) : this.formatBoth(row);
  }

  // What a bar is of: also of a group that one side lacks.
  formatMoved(row) {
    return row.group.side ? this.format(row.moved, row.metric, {signed: true, rate: row.isRate}) : this.formatDelta(row);
  }

  formatPercent({reset, percent, delta, before}) {
    if (reset)
      return "reset";
    if (percent === null)
      return null;
    return this.raw ? plainNumber(percent, true) : formatPercent(percent, delta, before);
  }

  formatRate({rate, metric}) {
    if (!isNumber(rate))
      return null;
    const signed = this.data.kind !== "interval";
    return this.raw ? plainNumber(rate, signed) : formatQuantity(rate, metric.unit, {signed, derived: true}) + "/s";
  }

  // What is not in the page is missing from every sum and order of it.
  cut() {
    const {info} = this.data, rows = Number(info.hiddenRows ?? 0);
    const groups = ["hiddenGroups", "hiddenOnlyBefore", "hiddenOnlyAfter", "hiddenOnlyA", "hiddenOnlyB"]
      .reduce((n, key) => n + Number(info[key] ?? 0), 0);
    return (groups > 0 ? ` ${plural(groups, "more group")} ${areNot(groups)} in this page (--limit 0 for all).` : "") +
      (rows > 0 ? ` ${plural(rows, "row")} that moved by no more than --threshold ${areNot(rows)} in this page.` : "");
  }

  build() {
    document.getElementById("main").replaceChildren();
    document.getElementById("nav").replaceChildren();
    headPart(this);
    this.parts = this.data.kind === "sets" ? [new SetMedians(this)] : [new TimeParts(this), new Movers(this)];
    this.table = new MetricTable(this);
    this.grids.push(this.table.grid);
    if (this.data.kind !== "sets") {
      hostPart(this);
      pressurePart(this);
    }
    pairingsPart(this);
    sectionsPart(this);
    capturesPart(this);
    sourcesPart(this);
    absentPart(this);
    document.getElementById("main").append(aboutText(this));
  }

  setRaw(raw) {
    this.raw = raw;
    for (const drawn of this.parts)
      drawn.draw();
    for (const grid of this.grids) {
      grid.measure();
      grid.draw(true);
    }
  }
}

function areNot(n) {
  return n === 1 ? "is not" : "are not";
}

function pairingsPart({data: {info: {pairings = [], hiddenPairings = 0}}}) {
  if (pairings.length === 0)
    return;
  part("pairings", "Pairings", "Paired cgroups",
    note("Cgroups that were taken for one, because what runs in them is alike, or because --pair says so."),
    smallTable("Paired cgroups", [
      ["before", "wrap", ({before}) => printable(before)],
      ["after", "wrap", ({after}) => printable(after)],
      ["shared", "number", ({shared}) => sideText(shared, "none"), "Kinds of threads in both"],
      ["Jaccard", "number", ({jaccard}) => cellOf(jaccard == null ? null : (jaccard * 100).toFixed(1) + "%",
        "neither has threads"), "The share of these in the kinds of threads in either"],
      ["by", "", ({by}) => ({stated: "--pair", parent: "parent"}[by] ?? "content"), "What they were paired by"],
    ], pairings),
    Number(hiddenPairings) > 0 && note(`${plural(hiddenPairings, "more pairing")} not told.`));
}

function sectionsPart({data: {sections, info, isPair}}) {
  const names = Object.keys(sections).filter((name) => sections[name].length > 0);
  const idle = Number(info.idleRows ?? 0);
  if (names.length > 0)
    part("sections", "Sections", "Sections",
      names.map((name) => sectionTable(name, sections[name], Number(info.hiddenSections?.[name] ?? 0))),
      note("-: not readable, or not there, as the cgroups of one side. ", idle > 0 &&
        `${plural(idle, "row")} that ${isPair ? "did not change" : idle === 1 ? "is 0" : "are 0"} ` +
        `${areNot(idle)} in this page (--all-rows).`));
}

const SOURCE_COUNTS = ["ok", "denied", "vanished", "unsupported", "malformed", "other"];

function sourcesPart({data: {info, isPair, kind}}) {
  const sides = sourceSides(info, kind);
  const rows = sides.flatMap(([side, sources = []]) => sources.map((source, i) => ({side, i, ...source})));
  rows.sort((a, b) => a.i - b.i);
  if (rows.length > 0)
    part("sources", "Sources", "Sources of readings",
      poorSources({info, kind}),
      note("How many readings went which way. Threads that vanished meanwhile are normal."),
      make("details", {}, make("summary", {}, plural(rows.length, "source") + (isPair ? " of both sides" : "")),
        smallTable("Sources", [
          ["source", "", ({name}) => printable(name)],
          ...isPair ? [["side", "", ({side}) => side]] : [],
          ["state", "", ({state}) => state],
          ...SOURCE_COUNTS.map((name) => [name, "number", (row) => Number(row[name] ?? 0).toLocaleString("en")]),
          ["reason", "wrap", ({reason}) => printable(reason ?? "")],
        ], rows)));
}

const REASONS_SHOWN = 200;

// The reason itself, without the side and the input it is about.
function rootOf(reason) {
  return reason.replace(/^(before and after|before|after): /, "").replace(/^no [a-z_]+: /, "");
}

// Every reason a "-" has, in text, for those whom no pointer tells.
function absentPart({data: {lists}}) {
  const found = new Map();
  for (const group of Object.values(lists).flat())
    for (const row of group.rows) {
      if (!row.reason)
        continue;
      const reason = rootOf(row.reason);
      const entry = found.get(reason) ?? {reason, metrics: new Set(), groups: new Set()};
      found.set(reason, entry);
      entry.metrics.add(row.metric.name);
      entry.groups.add(group);
    }
  const rows = [...found.values()].sort((a, b) => b.groups.size * b.metrics.size - a.groups.size * a.metrics.size);
  if (rows.length > 0)
    part("absent", "Not measured", "What was not measured",
      note("A value that was not measured is shown as -, never as 0. These are the reasons, " +
        "with the metrics they are about."),
      smallTable("What was not measured", [
        ["reason", "wrap", ({reason}) => printable(reason)],
        ["groups", "number", ({groups}) => groups.size.toLocaleString("en")],
        ["metrics", "wrap", ({metrics}) => [...metrics].join(", ")],
      ], rows.slice(0, REASONS_SHOWN)),
      rows.length > REASONS_SHOWN && note(`${plural(rows.length - REASONS_SHOWN, "more reason")}: choose a row ` +
        "of the table of metrics to read its own."));
}

function aboutText({data: {settings}}) {
  const quiet = ["limit", "changedOnly", "spread"];
  const view = Object.entries(settings.view ?? {})
    .filter(([key, value]) => !quiet.includes(key) && value !== false)
    .map(([key, value]) => `${key} ${typeof value === "string" ? printable(value) : JSON.stringify(value)}`);
  return make("footer", {}, `Written by ctprofctl ${settings.version ?? ""}. View: ${view.join(", ")}. ` +
    "This file holds all it shows and asks no other for anything.");
}

// The colours: those of the system, until the reader wants others.
function startScheme() {
  const button = document.getElementById("scheme");
  const next = {auto: "dark", dark: "light", light: "auto"};
  button.addEventListener("click", () => {
    button.textContent = next[button.textContent];
    document.documentElement.dataset.scheme = button.textContent;
  });
}

function start() {
  startScheme();
  const data = readData();
  // Nothing but the frame of a page: what stands there already says that it is not complete.
  if (["before", "snapshot", "a"].every((member) => data.info[member] === undefined))
    return null;
  const incomplete = document.getElementById("incomplete");
  const page = new Page(data);
  page.build();
  if (!data.complete)
    document.getElementById("main").prepend(incomplete);
  const raw = document.getElementById("raw");
  raw.checked = page.raw;
  raw.addEventListener("change", () => page.setRaw(raw.checked));
  return page;
}

const page = start();
