// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";

// The page from top to bottom.

class Page {
  constructor(data) {
    this.data = data;
    this.raw = Boolean(data.settings.raw);
    this.grids = [];
    this.totals = sumMetrics(data.groups);
    this.format = (value, metric, form = {}) => {
      if (value === null || value === undefined)
        return null;
      if (!form.signed || typeof value === "object")
        return formatValue(value, metric, this.raw);
      return this.raw ? plainNumber(value, true) : formatQuantity(value, metric.unit, {...form, derived: metric.derived});
    };
  }

  formatDelta(row) {
    const {before, after} = row;
    if (before?.mode !== undefined && after?.mode !== undefined)
      return before.mode === after.mode ? "same" : "differs";
    return this.format(row.delta, row.metric, {signed: true});
  }

  formatPercent(row) {
    if (row.reset)
      return "reset";
    if (row.percent === null)
      return null;
    return this.raw ? plainNumber(row.percent, true) : formatPercent(row.percent, row.delta, row.before);
  }

  formatRate(row) {
    if (row.rate === null || row.rate === undefined)
      return null;
    return this.raw ? plainNumber(row.rate, true) : formatQuantity(row.rate, row.metric.unit, {signed: true, derived: true}) + "/s";
  }

  // What --limit cut off is missing from every sum and order of the page.
  cut() {
    const n = this.data.info.hiddenGroups ?? 0;
    return n > 0 ? ` ${plural(Number(n), "more group")} ${Number(n) === 1 ? "is" : "are"} not in this page (--limit 0 for all).` : "";
  }

  build() {
    document.getElementById("main").replaceChildren();
    document.getElementById("nav").replaceChildren();
    headPart(this);
    this.movers = new Movers(this);
    this.time = new TimeParts(this);
    pressurePart(this);
    this.table = new MetricTable(this);
    oneSidedPart(this);
    pairingsPart(this);
    sectionsPart(this);
    sourcesPart(this);
    absentPart(this);
    document.getElementById("main").append(aboutText(this));
    this.grids.push(this.table.grid);
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

function formatTime(ns) {
  if (ns === undefined)
    return null;
  const milliseconds = Number(BigInt(ns) / 1000000n);
  return make("time", {dateTime: new Date(milliseconds).toISOString(), title: new Date(milliseconds).toString()},
    new Date(milliseconds).toISOString().replace("T", " ").replace("Z", " UTC"));
}

function headPart(page) {
  const {info, isPair, groups, lists} = page.data;
  const heads = isPair ? [["BEFORE", info.before], ["AFTER", info.after]] : [["", info.snapshot ?? {}]];
  const title = heads.map(([, head]) => printable(head.name ?? "?"));
  document.title = title.join(" → ") + " - ctprof";
  const section = part("top", "Summary", "Summary");
  section.querySelector("h2").replaceWith(make("h1", {id: "top-title"}, title.join(" → ")));

  const facts = [
    ["captured", (head) => formatTime(head.startRealtimeNs)],
    ["host", (head) => head.hostName === undefined ? null : printable(head.hostName)],
    ["kernel", (head) => head.kernelRelease === undefined ? null : printable(head.kernelRelease)],
    ["threads", (head) => head.threads === undefined ? null : Number(head.threads).toLocaleString("en")],
    ["processes", (head) => head.processes === undefined ? null : Number(head.processes).toLocaleString("en")],
    ["boot", (head) => head.bootId === undefined ? null : make("code", {}, head.bootId.slice(0, 8))],
    ["sources", (head) => head.complete === undefined ? null : head.complete ? "all readable" : make("a", {href: "#sources"}, "not all readable")],
    ["written by", (head) => head.toolVersion === undefined ? null : `${printable(head.toolVersion)}${head.backend ? ", " + head.backend : ""}`],
  ];
  const rows = facts.map(([name, of]) => make("tr", {}, make("th", {scope: "row"}, name),
    heads.map(([, head]) => make("td", {}, cellOf(of(head), "the snapshot does not say")))));
  const table = make("table", {class: "facts"},
    isPair ? make("thead", {}, make("tr", {}, make("td"), heads.map(([side, head]) => make("th", {scope: "col"}, side, " ", make("b", {}, printable(head.name ?? "?")))))) : null,
    make("tbody", {}, rows));

  const lines = [];
  if (info.command)
    lines.push(commandText(info.command));
  if (isPair)
    lines.push(elapsedText(info));
  if (info.window)
    lines.push(`Compared by thread lives: ${plural(Number(info.window.survived), "thread")} survived, ${info.window.born} were born, ${info.window.gone} are gone. What threads did that were born and gone in between is not included, nor what gone threads did after BEFORE.`);
  lines.push(`${plural(groups.length, "group")}${isPair ? " on both sides" : ""}, grouped by ${page.data.settings.view?.groupBy ?? "?"}` +
    (isPair ? `; ${lists.onlyBefore.length + Number(info.hiddenOnlyBefore ?? 0)} only in BEFORE, ${lists.onlyAfter.length + Number(info.hiddenOnlyAfter ?? 0)} only in AFTER.` : ".") + page.cut());
  if (Number(info.hiddenRows ?? 0) > 0)
    lines.push(`${plural(Number(info.hiddenRows), "row")} ${Number(info.hiddenRows) === 1 ? "was" : "were"} left out when the page was made (--threshold).`);
  section.append(make("div", {class: "head"}, table,
    make("div", {class: "lines"}, lines.map((line) => make("p", {}, line)), poorSources(page.data))));
  if (info.hostChanges?.length > 0)
    section.append(make("h3", {}, "What differs about the hosts"), smallTable("Differences of the hosts",
      [["key", ""], ["before", "wrap"], ["after", "wrap"]],
      info.hostChanges.map(({key, before, after}) => [printable(key), cellOf(before === null ? null : printable(before), "not there, or not readable"), cellOf(after === null ? null : printable(after), "not there, or not readable")])));
}

function elapsedText(info) {
  if (info.elapsedNs === undefined) {
    const differ = (key) => info.before[key] && info.after[key] && info.before[key] !== info.after[key];
    const why = differ("machineId") || differ("hostName") ? "different hosts"
      : !info.before.bootId || !info.after.bootId ? "a file without boot id" : "different boots";
    return `Elapsed time: unknown (${why}), so there are no rates.`;
  }
  const backwards = BigInt(info.elapsedNs) < 0n;
  return ["Elapsed: ", make("b", {}, formatSpan(backwards ? -BigInt(info.elapsedNs) : info.elapsedNs)),
    backwards ? " backwards: AFTER is older than BEFORE." : ""].flat();
}

function commandText(command) {
  const us = (ns) => formatSpan(ns);
  const words = command.words.map((word) => /^[\w./:=@%+,-]+$/.test(word) ? word : "'" + printable(word).replace(/'/g, "'\\''") + "'");
  return [make("code", {}, words.join(" ")), `: ${command.signal === undefined ? "exit " + command.exitStatus : "signal " + command.signal}, ${us(command.elapsedNs)} elapsed, ${us(command.userNs)} user, ${us(command.systemNs)} system, ${formatQuantity(command.peakRssBytes, "bytes")} peak, ${command.minorFaults} minor and ${command.majorFaults} major faults, ${command.voluntarySwitches} voluntary and ${command.involuntarySwitches} involuntary switches, ${command.blocksIn} blocks in, ${command.blocksOut} out.`];
}

function oneSidedPart(page) {
  const {lists, info, isPair} = page.data;
  if (!isPair)
    return;
  const nodes = [];
  for (const [list, side, hidden] of [["onlyBefore", "BEFORE", info.hiddenOnlyBefore], ["onlyAfter", "AFTER", info.hiddenOnlyAfter]]) {
    const n = lists[list].length + Number(hidden ?? 0);
    if (n === 0)
      continue;
    nodes.push(make("h3", {}, `Only in ${side}: ${plural(n, "group")}`), ...oneSidedTable(page, lists[list], `Only in ${side}`));
    if (Number(hidden ?? 0) > 0)
      nodes.push(note(`${plural(Number(hidden), "more group")} not in this page (--limit 0 for all).`));
  }
  if (nodes.length > 0)
    part("one-sided", "One-sided", "On one side only", note("These groups were not there on the other side. That is not the same as having done nothing."), ...nodes);
}

function pairingsPart(page) {
  const {pairings = [], hiddenPairings = 0} = page.data.info;
  if (pairings.length === 0)
    return;
  part("pairings", "Pairings", "Paired cgroups", note("Cgroups that were taken for one, because what runs in them is alike, or because --pair says so."),
    smallTable("Paired cgroups", [["before", "wrap"], ["after", "wrap"], ["shared", "number", "Kinds of threads in both"], ["share", "number", "Of the kinds of threads in either"]],
      pairings.map(({before, after, shared, jaccard}) => [printable(before), printable(after), cellOf(shared == null ? null : String(shared)), cellOf(jaccard == null ? null : formatQuantity(jaccard, "ratio"))])),
    Number(hiddenPairings) > 0 ? note(`${plural(Number(hiddenPairings), "more pairing")} not told.`) : null);
}

function sectionsPart(page) {
  const names = Object.keys(page.data.sections).filter((name) => page.data.sections[name].length > 0);
  if (names.length === 0)
    return;
  const idle = Number(page.data.info.idleRows ?? 0);
  part("sections", "Sections", "Sections", names.map((name) => sectionTable(name, page.data.sections[name])),
    note("-: not readable, or not there, as the cgroups of one side."),
    idle > 0 ? note(`${plural(idle, "row")} of memory.stat, memory.events and smaps_rollup that ${page.data.isPair ? "did not change" : "are 0"} ${idle === 1 ? "is" : "are"} not in this page (--all-rows).`) : null);
}

const SOURCE_COUNTS = ["ok", "denied", "vanished", "unsupported", "malformed", "other"];

function sourcesPart(page) {
  const {info, isPair} = page.data;
  const sides = isPair ? [["before", info.sourcesBefore], ["after", info.sourcesAfter]] : [["", info.sources]];
  const rows = [];
  for (const [side, sources] of sides)
    for (const source of sources ?? [])
      rows.push({side, ...source});
  if (rows.length === 0)
    return;
  const heads = [["source", ""], ...(isPair ? [["side", ""]] : []), ["state", ""], ...SOURCE_COUNTS.map((name) => [name, "number"]), ["reason", "wrap"]];
  const order = new Map((info.sourcesAfter ?? info.sources ?? []).map(({name}, i) => [name, i]));
  rows.sort((a, b) => order.get(a.name) - order.get(b.name));
  part("sources", "Sources", "Sources of readings", note("How many readings went which way. Threads that vanished meanwhile are normal."),
    make("details", {}, make("summary", {}, plural(rows.length, "source") + (isPair ? " of both sides" : "")), smallTable("Sources", heads, rows.map((row) => [printable(row.name), ...(isPair ? [row.side] : []), row.state,
      ...SOURCE_COUNTS.map((name) => row[name] === undefined ? "" : Number(row[name]).toLocaleString("en")), printable(row.reason ?? "")]))));
}

// Which sources could not be read to the full, and why: what is said of both sides is said once, and
// so is what is said of all sources.
function poorSources({info, isPair}) {
  const sides = isPair ? [["before", info.sourcesBefore], ["after", info.sourcesAfter]] : [["", info.sources]];
  const said = new Map();
  for (const [side, sources = []] of sides) {
    // Allocators that are not asked are nothing that went wrong.
    const poor = sources.filter(({name, state}) => name !== "jemalloc" && (state === "partial" || state === "unavailable"));
    const alike = poor.length > 1 && poor.length >= sources.length - 1 && poor.every(({reason}) => reason === poor[0].reason);
    for (const {name, state, reason} of alike ? [{...poor[0], name: "every source"}] : poor) {
      const key = `${printable(name)}\n${state}${reason ? ": " + printable(reason) : ""}`;
      said.set(key, said.has(key) ? "before and after" : side);
    }
  }
  if (said.size === 0)
    return [];
  return [make("h3", {}, "Not fully readable"), make("ul", {}, [...said].map(([key, side]) => {
    const [name, text] = key.split("\n");
    return make("li", {}, make("b", {}, name), side && said.size > 0 && side !== "before and after" ? ` (${side}) ` : " ", text);
  }))];
}

// The reason itself, without the side and the input it is about.
function rootOf(reason) {
  return reason.replace(/^(before and after|before|after): /, "").replace(/^no [a-z_]+: /, "");
}

// Every reason a "-" has, in text, for those whom no pointer tells.
function absentPart(page) {
  const why = new Map();
  for (const group of [...page.data.groups, ...page.data.lists.onlyBefore, ...page.data.lists.onlyAfter])
    for (const row of group.rows) {
      if (!row.reason)
        continue;
      const reason = rootOf(row.reason);
      const entry = why.get(reason) ?? {metrics: new Set(), groups: new Set()};
      why.set(reason, entry);
      entry.metrics.add(row.metric.name);
      entry.groups.add(group);
    }
  if (why.size === 0)
    return;
  const rows = [...why].sort(([, a], [, b]) => b.groups.size * b.metrics.size - a.groups.size * a.metrics.size).slice(0, 200);
  part("absent", "Not measured", "What was not measured", note("A value that was not measured is shown as -, never as 0. These are the reasons, with the metrics they are about."),
    smallTable("What was not measured", [["reason", "wrap"], ["groups", "number"], ["metrics", "wrap"]],
      rows.map(([reason, entry]) => [reason, entry.groups.size.toLocaleString("en"), [...entry.metrics].join(", ")])),
    why.size > rows.length ? note(`${plural(why.size - rows.length, "more reason")}: choose a row of the table of metrics to read its own.`) : null);
}

function aboutText(page) {
  const {settings} = page.data;
  const view = Object.entries(settings.view ?? {}).filter(([key, value]) => !["limit", "changedOnly", "spread"].includes(key) && value !== false)
    .map(([key, value]) => `${key} ${typeof value === "string" ? printable(value) : JSON.stringify(value)}`);
  return make("footer", {}, `Written by ctprofctl ${settings.version ?? ""}. View: ${view.join(", ")}. This file holds all it shows and asks no other for anything.`);
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
  if (!data.complete && data.groups.length === 0 && data.info.before === undefined && data.info.snapshot === undefined)
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
