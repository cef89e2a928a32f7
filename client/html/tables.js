// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";

// The tables that are sorted in place: of all metrics of all groups, of sections.

const UNIT_FAMILIES = ["ns", "us", "bytes", "ticks", "count", "ratio", "none"];
// Choosing nothing while a word is being typed.
const TYPING_MILLISECONDS = 120;

// Why a side of a row has no value, out of "before: ...; after: ...".
function whyAbsent({reason, group}, side) {
  if (group.side && (side === "before" || side === "after") && side !== group.side)
    return "there is no such group";
  const [before, after] = (reason ?? "").split("; after: ");
  return side === "after" && after !== undefined ? "after: " + after : side === "before" ? before : reason;
}

const MOMENTARY = "it says how a thread was found, and is not a quantity";

function whyNoDelta(row) {
  return row.metric.momentary ? MOMENTARY : whyAbsent(row, "delta");
}

// Of two intervals the threads at the end of each; where none is left at either, those that ended.
function threadsOfTwo({threads, lives}) {
  const ended = ["a", "b"].map((side) => Number(lives?.[side]?.ended ?? 0) + Number(lives?.[side]?.bornAndEnded ?? 0));
  const areGone = threads.a === 0 && threads.b === 0 && ended.some((n) => n > 0);
  const [a, b] = areGone ? ended : [threads.a, threads.b];
  return (a === b ? String(b) : `${a}→${b}`) + (areGone ? " ended" : "");
}

function threadsOf(group) {
  const {threads} = group;
  if (threads !== null && typeof threads === "object")
    return threadsOfTwo(group);
  if (threads !== undefined)
    return group.side ? `${group.side === "before" ? threads : 0}→${group.side === "after" ? threads : 0}` : String(threads);
  const {threadsBefore: before, threadsAfter: after} = group;
  const {born = 0, ended = 0, bornAndEnded} = group.lives ?? {born: group.born, ended: group.gone};
  const both = Number(bornAndEnded ?? 0);  // who was born and ended counts with both
  const lives = born > 0 || ended > 0 || both > 0 ? ` (+${Number(born) + both} −${Number(ended) + both})` : "";
  return (before === after ? String(after) : `${before}→${after}`) + lives;
}

class MetricTable {
  constructor(page) {
    this.page = page;
    const {data} = page;
    // Of groups of one side among others, as well.
    this.rows = data.groups.flatMap((group) => group.rows);
    this.most = this.rows.reduce((most, row) => Math.max(most, impactOf(row, page.totals) ?? 0), 0) || 1;
    const isTold = !data.settings.allRows && (data.kind !== "sets" || Number(data.info.significant) > 0);
    this.filter = {text: "", metric: "", section: "", moved: isTold};
    this.grid = new Grid("Metrics of groups", this.columns(),
      {onSelect: (row) => this.showDetail(row), rowKey: (row) => row.group});
    this.count = make("p", {class: "note", role: "status"});
    this.detail = make("aside", {class: "detail", "aria-live": "polite", "aria-label": "The chosen row"},
      "Choose a row, with a click or the arrow keys, for its exact numbers, what it means and, " +
      "where it has no value, why.");
    // With --sections host-pressure there is none.
    const parts = [this.controls(), this.count, this.grid.element, this.grid.more, this.detail];
    this.section = this.rows.length > 0 ? part("metrics", "Metrics", "All metrics", parts) : null;
    this.apply();
  }

  // A column of numbers, of which those of one unit are sorted among each other.
  numbers(title, order, text, why, options = {}) {
    return {title, number: true, most: 26, family: (row) => UNIT_FAMILIES.indexOf(row.metric.unit),
      order, cell: (row) => cellOf(text(row), why(row)), ...options};
  }

  side(key) {
    return this.numbers(this.page.data.titleOf(key), (row) => valueNumber(row[key]),
      (row) => this.page.formatSide(row, key), (row) => whyAbsent(row, key));
  }

  columns() {
    const {page} = this, {data} = page;
    const columns = [
      {title: data.settings.header ?? "group", width: 0, order: (row) => row.group.label,
        cell: (row) => labelOf(row.group.label)},
      {title: "threads", number: true, cell: (row) => threadsOf(row.group),
        order: ({group}) => group.threads?.b ?? group.threads ?? group.threadsAfter},
      {title: "metric", most: 30, cell: (row) => row.metric.name, order: (row) => row.metric.index},
      {title: data.sides.compares ? "impact" : "share", number: true, width: 12,
        hint: data.sides.compares ? IMPACT_HINT : SHARE_HINT,
        cell: (row) => this.shareCell(row), order: (row) => impactOf(row, page.totals)},
      ...this.valueColumns(),
    ];
    return this.rows.some((row) => row.spread) ? [...columns, ...this.spreadColumns()] : columns;
  }

  // By kind: a value, what was done, or two sides and how they differ.
  valueColumns() {
    const {page} = this, {data} = page;
    if (data.kind === "sets")
      return setColumns(this);
    if (data.kind === "interval")
      return [
        this.numbers("done, or at the end", (row) => doneOrder(row), (row) => page.formatDone(row), whyNotDone,
          {hint: "Counters: what was done in the interval. Averages and shares: of that work. All else: at the end, " +
            "and where it differs from what it was before"}),
        this.rates(),
      ];
    if (!data.isPair)
      return [this.side("value"), {title: "measured", number: true, width: 10, order: (row) => row.present,
        hint: "How many threads of the group have the value",
        cell: (row) => cellOf(row.present === null ? null : String(row.present), "of a derived value nothing tells")}];
    return [this.side("before"), this.side("after"),
      this.numbers("delta", (row) => row.delta, (row) => page.formatDelta(row), whyNoDelta, {hint: "The second minus the first"}),
      this.percents(),
      ...data.kind === "totals" ? [this.rates()] : []];
  }

  percents() {
    return this.numbers("%", percentOrder, (row) => this.page.formatPercent(row),
      (row) => row.metric.momentary ? MOMENTARY : row.reason || "there is no percent of 0, of words and of ratios",
      {width: 10, family: null, hint: "Growth from zero is above all percents"});
  }

  rates() {
    return this.numbers("per second", (row) => row.rate, (row) => this.page.formatRate(row),
      () => "only counters of two snapshots of one boot have a rate", {most: 20});
  }

  spreadColumns() {
    const why = (row) => row.reason || "only what adds up over threads is spread";
    return [
      this.numbers("top thread", (row) => row.spread?.top?.value ?? null, (row) => this.topOf(row.spread, row.metric),
        why, {most: 40, hint: "The thread with the largest value"}),
      ...["p50", "p99"].map((key) => this.numbers(key, (row) => row.spread?.[key] ?? null,
        (row) => this.page.format(row.spread?.[key], row.metric), why, {most: 20})),
    ];
  }

  topOf(spread, metric) {
    const top = spread?.top;
    return top ? `${this.page.format(top.value, metric)} ${printable(top.name)}[${top.tid}]` : null;
  }

  shareCell(row) {
    const impact = impactOf(row, this.page.totals);
    return impact === null ? ""
      : make("span", {class: "share"}, bar(impact / this.most), make("span", {}, formatShare(impact)));
  }

  controls() {
    const {filter} = this, {data} = this.page;
    const set = (key) => (value) => {
      filter[key] = value;
      this.apply();
    };
    const input = (label, id, placeholder, key, list) => {
      const field = make("input", {type: "search", id, placeholder, spellcheck: false, autocomplete: "off"});
      if (list)
        field.setAttribute("list", list);
      field.addEventListener("input", () => {
        filter[key] = field.value;
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.apply(), TYPING_MILLISECONDS);
      });
      return make("label", {class: "field"}, label, " ", field);
    };
    const used = new Set(this.rows.map((row) => row.metric));
    const metrics = data.metrics.filter((metric) => used.has(metric));
    const sections = [...new Set(metrics.map((metric) => metric.section))].map((name) => [name, name]);
    return make("div", {class: "controls", role: "search"},
      input("Groups", "filter-text", "part of a name", "text"),
      input("Metrics", "filter-metric", "part of a name, or a_*_glob", "metric", "metric-names"),
      make("datalist", {id: "metric-names"}, metrics.map((metric) => make("option", {value: metric.name}))),
      selectOf("Section", "filter-section", [["", "all"], ...sections], set("section")).field,
      checkbox({sets: "significant only", state: "measured and not 0 only"}[data.kind] ?? "changed only", "filter-moved", filter.moved, set("moved")));
  }

  apply() {
    const {text, metric, section, moved} = this.filter, {data} = this.page;
    const wanted = text.trim().toLowerCase(), isMetric = metricFilter(metric);
    const isMoved = (row) => data.isPair ? row.changed : !row.absent && Number(valueNumber(row.value) ?? 1) !== 0;
    const rows = this.rows.filter((row) => (!moved || isMoved(row)) && isMetric(row.metric.name) &&
      (section === "" || row.metric.section === section) && row.group.search.includes(wanted));
    const groups = new Set(rows.map((row) => row.group)).size;
    this.count.textContent = `${rows.length.toLocaleString("en")} of ${plural(this.rows.length, "row")}, in ` +
      `${groups.toLocaleString("en")} of ${plural(data.groups.length, "group")}.` + this.page.cut();
    this.grid.setRows(rows);
  }

  // From a bar to the numbers behind it.
  show(text, metric) {
    Object.assign(this.filter, {text, metric});
    document.getElementById("filter-text").value = text;
    document.getElementById("filter-metric").value = metric;
    this.apply();
    this.section.scrollIntoView();
    this.grid.element.focus({preventScroll: true});
  }

  showDetail(row) {
    const {group, metric} = row, {data} = this.page;
    const unit = metric.unit === "none" ? "" : " " + metric.unit;
    const exactly = (value) => value === null ? "not measured" : formatValue(value, metric, true) +
      (typeof value === "object" ? "" : unit);
    const spread = (of) => of?.top && `top ${this.topOf(of, metric)}, p50 ${this.page.format(of.p50, metric)}, ` +
      `p99 ${this.page.format(of.p99, metric)}`;
    const names = ["before", "after"].map((side) => data.titleOf(side));
    const numbers = data.kind === "sets" ? setFacts(row, exactly) : data.isPair
      ? [[names[0], exactly(row.before)], [names[1], exactly(row.after)],
        ["delta", row.delta !== null && plainNumber(row.delta, true) + unit],
        ["reset", row.reset && "the counter went back, though every thread survived: no percent"]]
      : [["value", exactly(row.value)]];
    const facts = [
      ...numbers,
      ["why", row.reason && printable(row.reason)],
      ["exact", (row.approximate.value || row.approximate.after) && "no: what ~ stands in front of is only approximate"],
      ["spread", spread(row.spread)],
      ["before it", spread(row.spreadBefore)],
      ["means", metric.text],
      ["kind", [metric.section, metric.unit, metric.class && `scheduling class ${metric.class}`,
        metric.gates && `needs ${metric.gates}`].filter(Boolean).join(", ")],
      ["threads", threadsOf(group) + (group.lives?.survived === undefined ? ""
        : `: ${group.lives.survived} survived, ${group.lives.born} born, ${group.lives.ended} ended`)],
      ["age", group.uptimePercent != null && `${group.uptimePercent.toFixed(1)}% of that of the oldest group`],
      ["names", namesOf(group, "members")],
      ["commands", namesOf(group, "commands")],
    ];
    this.detail.replaceChildren(make("h3", {}, `${group.label} · ${metric.name}`), make("dl", {}, facts
      .filter(([, text]) => text).map(([name, text]) => [make("dt", {}, name), make("dd", {}, text)])));
  }
}

function doneOrder(row) {
  const value = row.metric.derived ? row.work : row.metric.counter ? row.moved : valueNumber(row.after ?? row.before);
  return isNumber(value) ? value : null;
}

function whyNotDone(row) {
  return row.group.side === "before" ? "its threads ended, and what they did in the interval is not known" : row.reason;
}

function percentOrder({percent, delta, before}) {
  const isFromZero = percent === null && isNumber(before) && Number(before) === 0 && Number(delta) > 0;
  return isFromZero ? Infinity : percent;
}

// Part of a name, or with a star a glob for all of it.
function metricFilter(text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted.includes("*"))
    return (name) => name.includes(wanted);
  const words = wanted.split("*").map((word) => word.replace(/[^\w]/g, "\\$&"));
  const glob = new RegExp("^" + words.join(".*") + "$");
  return (name) => glob.test(name);
}

// Units of the members of sections; all others are plain numbers.
const SECTION_UNITS = {
  "cpu.usage_usec": "us", "cpu.throttled_usec": "us", "cpu.nr_throttled": "count", "memory.current": "bytes",
  "cpu.max_quota_us": "us", "cpu.max_period_us": "us", "memory.max": "bytes", "memory.high": "bytes",
  "memory.low": "bytes", "memory.min": "bytes", "pids.current": "count", "pids.max": "count", total_usec: "us",
  avg10: "pressure", avg60: "pressure", avg300: "pressure",
};
const SECTION_TEXTS = new Set(["cgroup", "process", "key", "event", "attr", "resource", "row",
  "cpu", "disk", "interface", "kind"]);
// What the limit cuts off; cgroups in all other sections.
const SECTION_ITEMS = {"smaps-rollup": "process name", "host-cpu": "CPU", "host-disk": "disk", "host-network": "interface"};

// {cpu: {usage_usec: VALUE}} -> {"cpu.usage_usec": VALUE}
function flatten(row, prefix = "", into = {}) {
  for (const [key, value] of Object.entries(row)) {
    if (value !== null && typeof value === "object" && !("before" in value && "after" in value))
      flatten(value, prefix + key + ".", into);
    else
      into[prefix + key] = value;
  }
  return into;
}

// Integers above 2^53 are texts, as html-data.h has them; other texts are words, such as "max".
function isQuantity(value) {
  return typeof value === "number" || typeof value === "string" && /^-?\d{16,20}$/.test(value);
}

function sideText(value, unit, {signed = false, why = ""} = {}) {
  if (value === null || value === undefined)
    return absent(why || "not readable, or not there");
  if (!isQuantity(value))
    return printable(value);
  return unit === "pressure" ? formatPressure(value, signed)
    : unit === "hundredths" ? formatHundredths(value, signed) : formatQuantity(value, unit, {signed});
}

// "a → b (±d)", once where they are equal.
function pairText(value, unit, why) {
  if (value === null || typeof value !== "object" || value.before === value.after)
    return sideText(value?.after !== undefined ? value.after : value, unit, {why});
  const side = (of) => of === null ? "-" : sideText(of, unit);
  const delta = isQuantity(value.delta) ? ` (${sideText(value.delta, unit, {signed: true})})` : "";
  return `${side(value.before)} → ${side(value.after)}${delta}`;
}

function sectionColumn(name, isFirst) {
  if (SECTION_TEXTS.has(name))
    return {title: name, width: isFirst ? 0 : undefined, most: 60,
      cell: (row) => labelOf(row[name] === null ? "all" : printable(row[name] ?? ""))};
  if (name === "perSecond")
    return {title: "per second", number: true, most: 20, family: (row) => UNIT_FAMILIES.indexOf(row.unit),
      cell: (row) => isQuantity(row[name]) ? formatQuantity(row[name], row.unit) + "/s"
        : absent("only counters of two snapshots of one boot have a rate"),
      order: (row) => isQuantity(row[name]) ? row[name] : null};
  const unitOf = (row) => row.unit ?? SECTION_UNITS[name] ?? "none";
  return {title: name, number: true, most: 44, family: (row) => UNIT_FAMILIES.indexOf(unitOf(row)),
    cell: (row) => pairText(row[name] ?? null, unitOf(row), row.reason),
    order: (row) => {
      const value = row[name], last = value !== null && typeof value === "object" ? value.after : value;
      return isQuantity(last) ? last : null;
    }};
}

function sectionTable(name, rows, hidden) {
  const flat = rows.map((row) => flatten(row));
  const names = [...new Set(flat.flatMap((row) => Object.keys(row)))].filter((key) => !/^(unit|reason)$/.test(key));
  const columns = names.map((key, i) => sectionColumn(key, i === 0));
  if (flat.some((row) => row.reason))
    columns.push({title: "why", most: 60, cell: (row) => printable(row.reason ?? "")});
  const grid = new Grid(name, columns);
  const details = make("details", {},
    make("summary", {}, make("h3", {}, name), " " + plural(rows.length, "row")), grid.element, grid.more,
    hidden > 0 && note(`${plural(hidden, "more " + (SECTION_ITEMS[name] ?? "cgroup"))} ` +
      `${areNot(hidden)} in this page (--limit 0 for all).`));
  // Its height is known once it is seen.
  details.addEventListener("toggle", () => grid.draw(true));
  grid.setRows(flat);
  return details;
}
