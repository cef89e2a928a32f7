// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";

// The page from top to bottom.

class Page {
  constructor(data) {
    this.data = data;
    this.raw = Boolean(data.settings.raw);
    this.grids = [];
    this.totals = sumMetrics(data.groups);
  }

  // The text of a VALUE; null where there is none. form: {signed: a delta}
  format(value, metric, {signed = false} = {}) {
    if (value === null || value === undefined)
      return null;
    if (!signed)
      return formatValue(value, metric, this.raw);
    return this.raw ? plainNumber(value, true)
      : formatQuantity(value, metric.unit, {signed, derived: metric.derived});
  }

  // The "before", "after" or "value" of a row.
  formatSide(row, key) {
    const text = this.format(row[key], row.metric);
    return text !== null && !this.raw && row.approximate[key] ? "~" + text : text;
  }

  formatDelta({before, after, delta, metric}) {
    if (metric.momentary)
      return null;
    if (before?.mode !== undefined && after?.mode !== undefined)
      return before.mode === after.mode ? "same" : "differs";
    return this.format(delta, metric, {signed: true});
  }

  formatPercent({reset, percent, delta, before}) {
    if (reset)
      return "reset";
    if (percent === null)
      return null;
    return this.raw ? plainNumber(percent, true) : formatPercent(percent, delta, before);
  }

  formatRate({rate, metric}) {
    if (rate === null)
      return null;
    return this.raw ? plainNumber(rate, true)
      : formatQuantity(rate, metric.unit, {signed: true, derived: true}) + "/s";
  }

  // What is not in the page is missing from every sum and order of it.
  cut() {
    const {hiddenGroups = 0, hiddenRows = 0} = this.data.info, groups = Number(hiddenGroups), rows = Number(hiddenRows);
    return (groups > 0 ? ` ${plural(groups, "more group")} ${areNot(groups)} in this page (--limit 0 for all).` : "") +
      (rows > 0 ? ` ${plural(rows, "row")} that moved by no more than --threshold ${areNot(rows)} in this page.` : "");
  }

  build() {
    document.getElementById("main").replaceChildren();
    document.getElementById("nav").replaceChildren();
    headPart(this);
    this.movers = new Movers(this);
    this.time = new TimeParts(this);
    pressurePart(this);
    this.table = new MetricTable(this);
    this.grids.push(this.table.grid);
    oneSidedPart(this);
    pairingsPart(this);
    sectionsPart(this);
    sourcesPart(this);
    absentPart(this);
    document.getElementById("main").append(aboutText(this));
  }

  setRaw(raw) {
    this.raw = raw;
    this.movers.draw();
    this.time.draw();
    for (const grid of this.grids) {
      grid.measure();
      grid.draw(true);
    }
  }
}

function areNot(n) {
  return n === 1 ? "is not" : "are not";
}

function formatTime(ns) {
  const time = new Date(Number(BigInt(ns) / 1000000n)), text = time.toISOString();
  return make("time", {dateTime: text, title: time.toString()}, text.replace("T", " ").replace("Z", " UTC"));
}

// [name, member of the head, text(member, head)]
const HEAD_FACTS = [
  ["captured", "startRealtimeNs", formatTime],
  ["host", "hostName", printable],
  ["kernel", "kernelRelease", printable],
  ["threads", "threads", (n) => Number(n).toLocaleString("en")],
  ["processes", "processes", (n) => Number(n).toLocaleString("en")],
  ["boot", "bootId", (id) => make("code", {}, id.slice(0, 8))],
  ["sources", "complete", (complete) => complete ? "all readable" : make("a", {href: "#sources"}, "not all readable")],
  ["written by", "toolVersion", (version, {backend}) => printable(version) + (backend ? ", " + backend : "")],
];

function headPart(page) {
  const {info, isPair} = page.data;
  const heads = isPair ? [["BEFORE", info.before], ["AFTER", info.after]] : [["", info.snapshot ?? {}]];
  const names = heads.map(([, head]) => printable(head.name ?? "?"));
  document.title = names.join(" → ") + " - ctprof";
  const section = part("top", "Summary", "");
  section.querySelector("h2").replaceWith(make("h1", {id: "top-title"}, names.join(" → ")));
  const rows = HEAD_FACTS.map(([name, member, text]) => make("tr", {}, make("th", {scope: "row"}, name),
    heads.map(([, head]) => make("td", {},
      cellOf(head[member] == null ? null : text(head[member], head), "the snapshot does not say")))));
  const sides = heads.map(([side], i) => make("th", {scope: "col"}, side, " ", make("b", {}, names[i])));
  section.append(make("div", {class: "head"},
    make("table", {class: "facts"}, isPair && make("thead", {}, make("tr", {}, make("td"), sides)),
      make("tbody", {}, rows)),
    make("div", {class: "lines"}, headLines(page).map((line) => make("p", {}, line)), poorSources(page.data))));
  const side = (key) => (change) =>
    cellOf(change[key] === null ? null : printable(change[key]), "not there, or not readable");
  if (info.hostChanges?.length > 0)
    section.append(make("h3", {}, "What differs about the hosts"), smallTable("Differences of the hosts",
      [["key", "", ({key}) => printable(key)], ["before", "wrap", side("before")], ["after", "wrap", side("after")]],
      foldChanges(info.hostChanges)));
}

// What a host has of every CPU mostly changes on all at once: keys that differ in their last number
// alone, and changed alike, are "cpufreq_governor.0-3,7".
function foldChanges(changes) {
  const folded = new Map();
  for (const change of changes) {
    const [, stem, number] = /^(.*\.)(\d+)$/s.exec(change.key) ?? [];
    const id = JSON.stringify([stem ?? change.key, stem === undefined, change.before, change.after]);
    if (!folded.has(id))
      folded.set(id, {...change, stem, numbers: []});
    if (stem !== undefined)
      folded.get(id).numbers.push(Number(number));
  }
  return [...folded.values()].map((change) =>
    change.numbers.length > 1 ? {...change, key: change.stem + joinNumbers(change.numbers)} : change);
}

function joinNumbers(numbers) {
  const ranges = [];
  for (const number of numbers.sort((a, b) => a - b)) {
    if (ranges.at(-1)?.[1] === number - 1)
      ranges.at(-1)[1] = number;
    else
      ranges.push([number, number]);
  }
  return ranges.map(([first, last]) => first === last ? first : `${first}-${last}`).join(",");
}

function headLines(page) {
  const {info, isPair, groups, lists, settings} = page.data;
  const lines = [];
  if (info.command)
    lines.push(commandText(info.command));
  if (isPair)
    lines.push(elapsedText(info));
  if (info.window) {
    const {survived, born, gone} = info.window;
    lines.push(`Compared by lives of threads: ${plural(survived, "thread")} survived, ${plural(born, "thread")} ` +
      `born, ${plural(gone, "thread")} gone. What threads did that were born and gone in between is not ` +
      "included, nor what gone threads did after BEFORE.");
  }
  const only = (list, hidden) => lists[list].length + Number(info[hidden] ?? 0);
  const sides = isPair ? `; ${only("onlyBefore", "hiddenOnlyBefore")} only in BEFORE, ` +
    `${only("onlyAfter", "hiddenOnlyAfter")} only in AFTER` : "";
  lines.push(`${plural(groups.length, "group")}, grouped by ${settings.view?.groupBy ?? "?"}${sides}.` + page.cut());
  return lines;
}

function elapsedText({elapsedNs, swapped, before, after}) {
  if (elapsedNs === undefined) {
    const differ = (key) => before[key] && after[key] && before[key] !== after[key];
    const why = differ("machineId") || differ("hostName") ? "different hosts"
      : !before.bootId || !after.bootId ? "a file without boot id" : "different boots";
    return `Elapsed: unknown (${why}), so there are no rates.`;
  }
  return ["Elapsed: ", make("b", {}, formatSpan(elapsedNs)),
    swapped && ". The snapshots were named in the wrong order; the sides were swapped."];
}

function commandText(command) {
  const words = command.words.map((word) =>
    /^[\w./:=@%+,-]+$/.test(word) ? word : "'" + printable(word).replace(/'/g, "'\\''") + "'");
  const end = command.signal === undefined ? `exit ${command.exitStatus}` : `signal ${command.signal}`;
  return [make("code", {}, words.join(" ")), `: ${end}, ${formatSpan(command.elapsedNs)} elapsed, ` +
    `${formatSpan(command.userNs)} user, ${formatSpan(command.systemNs)} system, ` +
    `${formatQuantity(command.peakRssBytes, "bytes")} peak, ` +
    `${command.minorFaults} minor and ${command.majorFaults} major faults, ` +
    `${command.voluntarySwitches} voluntary and ${command.involuntarySwitches} involuntary switches, ` +
    `${command.blocksIn} blocks in, ${command.blocksOut} out.`];
}

// Which sources could not be read to the full, and why: what is said of both sides is said once, and
// so is what is said of all sources.
function poorSources({info, isPair}) {
  const sides = isPair ? [["before", info.sourcesBefore], ["after", info.sourcesAfter]] : [["", info.sources]];
  const said = new Map();
  for (const [side, sources = []] of sides) {
    // Allocators that are not asked are nothing that went wrong.
    const poor = sources.filter(({name, state}) => name !== "jemalloc" && /^(partial|unavailable)$/.test(state));
    const isUniform = poor.length > 1 && poor.length >= sources.length - 1 &&
      poor.every(({reason}) => reason === poor[0].reason);
    for (const {name, state, reason} of isUniform ? [{...poor[0], name: "every source"}] : poor) {
      const key = `${printable(name)}\n${state}${reason ? ": " + printable(reason) : ""}`;
      said.set(key, said.has(key) ? "" : side);
    }
  }
  const items = [...said].map(([key, side]) => {
    const [name, text] = key.split("\n");
    return make("li", {}, make("b", {}, name), side ? ` (${side}) ` : " ", text);
  });
  return items.length > 0 && [make("h3", {}, "Not fully readable"), make("ul", {}, items)];
}

function oneSidedPart(page) {
  const {lists, info} = page.data;
  const nodes = [];
  for (const [list, side] of [["onlyBefore", "BEFORE"], ["onlyAfter", "AFTER"]]) {
    const hidden = Number(info[list.replace("only", "hiddenOnly")] ?? 0), n = lists[list].length + hidden;
    if (n > 0)
      nodes.push(make("h3", {}, `Only in ${side}: ${plural(n, "group")}`),
        oneSidedTable(page, lists[list], `Only in ${side}`));
    if (hidden > 0)
      nodes.push(note(`${plural(hidden, "more group")} ${areNot(hidden)} in this page (--limit 0 for all).`));
  }
  if (nodes.length > 0)
    part("one-sided", "One-sided", "On one side only",
      note("These groups were not there on the other side. That is not the same as having done nothing."), nodes);
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
        `${plural(idle, "row")} of memory.stat, memory.events and smaps_rollup that ` +
        `${isPair ? "did not change" : "are 0"} ${areNot(idle)} in this page (--all-rows).`));
}

const SOURCE_COUNTS = ["ok", "denied", "vanished", "unsupported", "malformed", "other"];

function sourcesPart({data: {info, isPair}}) {
  const sides = isPair ? [["before", info.sourcesBefore], ["after", info.sourcesAfter]] : [["", info.sources]];
  const rows = sides.flatMap(([side, sources = []]) => sources.map((source, i) => ({side, i, ...source})));
  rows.sort((a, b) => a.i - b.i);
  if (rows.length > 0)
    part("sources", "Sources", "Sources of readings",
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
  if (data.info.before === undefined && data.info.snapshot === undefined)
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
