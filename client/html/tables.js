// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";

// The table of all metrics of all groups, and those of the sections.

const UNIT_FAMILIES = ["ns", "us", "bytes", "ticks", "count", "ratio", "none"];

// What was not measured, and why, of one side of a row. "before: ..." is said of the other side, too.
function whyAbsent(row, side) {
  const reason = row.reason ?? "";
  if (side && reason.startsWith(side === "before" ? "after: " : "before: "))
    return "not measured";
  return reason;
}

function threadsOf(group) {
  if (group.threads !== undefined)
    return String(group.threads);
  const {threadsBefore: before, threadsAfter: after} = group;
  const lives = group.survived === undefined ? "" : ` (+${group.born} −${group.gone})`;
  return (before === after ? String(after) : `${before}→${after}`) + lives;
}

class MetricTable {
  constructor(page) {
    this.page = page;
    const {data} = page;
    this.rows = data.groups.flatMap((group) => group.rows);
    this.totals = page.totals;
    this.most = this.rows.reduce((most, row) => Math.max(most, impactOf(row, page.totals) ?? 0), 0) || 1;
    this.filter = {text: "", metric: "", section: "", moved: !data.settings.allRows};
    this.grid = new Grid("Metrics of groups", this.columnsOf(data),
      {onSelect: (row) => this.showDetail(row), rowKey: (row) => row.group});
    this.count = note();
    this.count.setAttribute("role", "status");
    this.detail = make("aside", {class: "detail", "aria-live": "polite", "aria-label": "The chosen row"},
      "Choose a row, with a click or the arrow keys, for its exact numbers, what it means and, where it has no value, why.");
    this.section = part("metrics", "Metrics", "All metrics", this.controls(data), this.count, this.grid.element, this.grid.more, this.detail);
    this.apply();
  }

  columnsOf(data) {
    const number = (key, title, options = {}) => ({
      title, number: true, most: 26, family: (row) => UNIT_FAMILIES.indexOf(row.metric.unit),
      cell: (row) => cellOf(this.page.format(row[key], row.metric, options.form), whyAbsent(row, key)),
      order: (row) => valueNumber(row[key]), ...options});
    const columns = [
      {title: data.settings.header ?? "group", width: 0, cell: (row) => labelOf(row.group.label)},
      {title: "threads", number: true, cell: (row) => threadsOf(row.group),
        order: (row) => row.group.threads ?? row.group.threadsAfter},
      {title: "metric", most: 30, cell: (row) => row.metric.name, order: (row) => row.metric.index},
    ];
    columns.push({title: data.isPair ? "impact" : "share", number: true, width: 12, hint: data.isPair ? IMPACT_HINT : SHARE_HINT,
      cell: (row) => this.impactCell(row), order: (row) => impactOf(row, this.totals)});
    if (data.isPair) {
      columns.push(number("before", "before"), number("after", "after"),
        number("delta", "delta", {cell: (row) => cellOf(this.page.formatDelta(row), whyAbsent(row)),
          hint: "After minus before. Rows of one kind of unit are sorted among each other."}),
        {title: "%", number: true, hint: "Growth from zero stands before all percents", width: 10,
          cell: (row) => cellOf(this.page.formatPercent(row), whyAbsent(row) || "before is 0 or not there, or a percent says nothing here"),
          order: (row) => row.percent ?? (row.delta > 0 && Number(row.before) === 0 && row.before !== null ? Infinity : null)},
        {title: "per second", number: true, most: 20,
          family: (row) => UNIT_FAMILIES.indexOf(row.metric.unit), order: (row) => row.rate,
          cell: (row) => cellOf(this.page.formatRate(row), "only counters of two snapshots of one boot have a rate")});
    } else {
      columns.push(number("value", "value"),
        {title: "measured", number: true, hint: "How many threads of the group have the value", width: 10,
          cell: (row) => cellOf(row.present === null ? null : String(row.present), "nothing tells of how many"),
          order: (row) => row.present});
    }
    if (this.rows.some((row) => row.spread))
      columns.push(...this.spreadColumns());
    return columns;
  }

  impactCell(row) {
    const impact = impactOf(row, this.totals);
    return impact === null ? "" : make("span", {class: "share"}, bar(impact / this.most), make("span", {}, formatShare(impact)));
  }

  spreadColumns() {
    const of = (row, key) => this.page.format(row.spread?.[key] ?? null, row.metric);
    const why = "only sums over threads are spread";
    return [
      {title: "top thread", most: 40, hint: "The thread with the largest value", cell: (row) => cellOf(this.topOf(row.spread, row.metric), why),
        order: (row) => row.spread?.top?.value ?? null, number: true, family: (row) => UNIT_FAMILIES.indexOf(row.metric.unit)},
      ...["p50", "p99"].map((key) => ({title: key, number: true, most: 20, cell: (row) => cellOf(of(row, key), why),
        order: (row) => row.spread?.[key] ?? null, family: (row) => UNIT_FAMILIES.indexOf(row.metric.unit)})),
    ];
  }

  topOf(spread, metric) {
    const top = spread?.top;
    return top ? `${printable(top.name)}[${top.tid}] ${this.page.format(top.value, metric)}` : null;
  }

  controls(data) {
    const {filter} = this;
    const input = (id, label, placeholder, key, list) => {
      const field = make("input", {type: "search", id, placeholder, spellcheck: false, autocomplete: "off"});
      if (list)
        field.setAttribute("list", list);
      field.addEventListener("input", () => {
        filter[key] = field.value;
        this.applySoon();
      });
      return make("label", {class: "field"}, label, " ", field);
    };
    const metrics = data.metrics.filter((metric) => this.rows.some((row) => row.metric === metric));
    const names = make("datalist", {id: "metric-names"}, metrics.map((metric) => make("option", {value: metric.name})));
    const sections = [...new Set(metrics.map((metric) => metric.section))];
    const section = selectOf("Section", [["", "all"], ...sections.map((name) => [name, name])], (value) => {
      filter.section = value;
      this.apply();
    });
    section.select.id = "filter-section";
    const moved = checkbox(data.isPair ? "changed only" : "measured and not 0 only", filter.moved, (checked) => {
      filter.moved = checked;
      this.apply();
    });
    moved.querySelector("input").id = "filter-moved";
    return make("div", {class: "controls", role: "search"},
      input("filter-text", "Groups", "part of a name", "text"),
      input("filter-metric", "Metrics", "part of a name, or a_*_glob", "metric", "metric-names"), names,
      section.field, moved);
  }

  applySoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.apply(), 120);
  }

  apply() {
    const {text, metric, section, moved} = this.filter;
    const wanted = text.trim().toLowerCase(), isMetric = metricFilter(metric);
    const rows = this.rows.filter((row) =>
      (!moved || (this.page.data.isPair ? row.changed : !row.absent && Number(valueNumber(row.value) ?? 1) !== 0)) &&
      (section === "" || row.metric.section === section) &&
      isMetric(row.metric.name) && row.group.search.includes(wanted));
    const groups = new Set(rows.map((row) => row.group)).size;
    this.count.textContent = `${rows.length.toLocaleString("en")} of ${plural(this.rows.length, "row")}, in ${groups.toLocaleString("en")} of ${plural(this.page.data.groups.length, "group")}.` + this.page.cut();
    this.grid.setRows(rows);
  }

  // From a bar to the numbers behind it.
  show(text, metric) {
    const fields = {text: document.getElementById("filter-text"), metric: document.getElementById("filter-metric")};
    fields.text.value = this.filter.text = text;
    fields.metric.value = this.filter.metric = metric;
    this.apply();
    this.section.scrollIntoView();
    this.grid.element.focus({preventScroll: true});
  }

  showDetail(row) {
    const {group, metric} = row, {data} = this.page;
    const facts = [];
    const fact = (name, value) => value !== null && value !== undefined && value !== "" && facts.push(make("dt", {}, name), make("dd", {}, value));
    const exact = (value) => value === null ? "not measured" : `${formatValue(value, metric, true)}${metric.unit === "none" || typeof value === "object" ? "" : " " + metric.unit}`;
    if (data.isPair) {
      fact("before", exact(row.before));
      fact("after", exact(row.after));
      fact("delta", row.delta === null ? null : `${plainNumber(row.delta, true)} ${metric.unit}`);
      fact("reset", row.reset ? "the counter went back, though every thread survived: no percent" : null);
    } else {
      fact("value", exact(row.value));
    }
    fact("why", row.reason);
    fact("spread", this.topOf(row.spread, metric) && `top ${this.topOf(row.spread, metric)}, p50 ${this.page.format(row.spread.p50, metric)}, p99 ${this.page.format(row.spread.p99, metric)}`);
    fact("before it", this.topOf(row.spreadBefore, metric) && `top ${this.topOf(row.spreadBefore, metric)}, p50 ${this.page.format(row.spreadBefore.p50, metric)}, p99 ${this.page.format(row.spreadBefore.p99, metric)}`);
    fact("means", metric.text);
    fact("kind", [metric.section, metric.unit, metric.class && `scheduling class ${metric.class}`, metric.gates && `needs ${metric.gates}`].filter(Boolean).join(", "));
    fact("threads", threadsOf(group) + (group.survived === undefined ? "" : `: ${group.survived} survived, ${group.born} born, ${group.gone} gone`));
    fact("age", group.uptimePercent == null ? null : `${Number(group.uptimePercent).toFixed(1)}% of the age of the oldest group`);
    fact("names", (group.members ?? []).map((member) => `${printable(member.name)} (${member.threads})`).join(", ") +
      (group.membersOmitted ? ` and ${plural(group.membersOmitted, "more thread")}` : ""));
    this.detail.replaceChildren(make("h3", {}, `${group.label} · ${metric.name}`), make("dl", {}, facts));
  }
}

// Part of a name, or with a star a glob for all of it.
function metricFilter(text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted.includes("*"))
    return (name) => name.includes(wanted);
  const glob = new RegExp("^" + wanted.split("*").map((word) => word.replace(/[^\w]/g, "\\$&")).join(".*") + "$");
  return (name) => glob.test(name);
}

// Units of the members of sections; all others are plain numbers.
const SECTION_UNITS = {
  "cpu.usage_usec": "us", "cpu.throttled_usec": "us", "cpu.nr_throttled": "count", "memory.current": "bytes",
  "cpu.max_quota_us": "us", "cpu.max_period_us": "us", "memory.max": "bytes", "memory.high": "bytes",
  "memory.low": "bytes", "memory.min": "bytes", "pids.current": "count", "pids.max": "count", total_usec: "us",
};
const SECTION_TEXTS = new Set(["cgroup", "process", "key", "event", "attr", "resource", "row"]);

// {cpu: {usage_usec: V}} -> {"cpu.usage_usec": V}
function flatten(row, prefix = "", into = {}) {
  for (const [key, value] of Object.entries(row)) {
    if (value !== null && typeof value === "object" && !("before" in value && "after" in value))
      flatten(value, prefix + key + ".", into);
    else
      into[prefix + key] = value;
  }
  return into;
}

function sectionColumns(rows) {
  const names = [...new Set(rows.slice(0, 200).flatMap((row) => Object.keys(row)))].filter((name) => name !== "unit");
  const unitOf = (row, name) => row.unit ?? SECTION_UNITS[name] ?? "none";
  const after = (value) => value !== null && typeof value === "object" ? value.after : value;
  return names.map((name, i) => SECTION_TEXTS.has(name)
    ? {title: name, width: i === 0 && names.length < 8 ? 0 : undefined, most: 60, cell: (row) => labelOf(printable(row[name]))}
    : {title: name, number: true, most: 44, family: (row) => UNIT_FAMILIES.indexOf(unitOf(row, name)),
      cell: (row) => pairText(row[name], unitOf(row, name)),
      order: (row) => isNumber(after(row[name])) && after(row[name]) !== "max" ? after(row[name]) : null});
}

// "a → b (±d)", once where they are equal.
function pairText(value, unit) {
  const show = (side) => side === null || side === undefined ? "-" : /^-?\d+$/.test(side) || typeof side === "number"
    ? formatQuantity(side, unit, {derived: false}) : printable(side);
  if (value === null || value === undefined || typeof value !== "object")
    return value === null || value === undefined ? absent("not readable, or not there") : show(value);
  if (value.before === null && value.after === null)
    return absent("not readable, or not there");
  if (value.before === value.after)
    return show(value.after);
  const delta = isNumber(value.delta) ? ` (${formatQuantity(value.delta, unit, {signed: true})})` : "";
  return `${show(value.before)} → ${show(value.after)}${delta}`;
}

function sectionTable(name, rows) {
  const flat = rows.map((row) => flatten(row));
  const grid = new Grid(name, sectionColumns(flat));
  const details = make("details", {id: "section-" + name},
    make("summary", {}, make("h3", {}, name), ` ${plural(rows.length, "row")}`), grid.element, grid.more);
  // Widths and heights are known once it is seen.
  details.addEventListener("toggle", () => grid.draw(true));
  grid.setRows(flat);
  return details;
}

const ONE_SIDED_METRICS = ["run_time_ns", "wait_time_ns", "voluntary_csw", "nonvoluntary_csw", "minflt", "rchar", "wchar"];

// Groups that one side lacks: they were not there, which is not "did nothing".
function oneSidedTable(page, groups, title) {
  const names = ONE_SIDED_METRICS.filter((name) => groups.some((group) => group.byName.get(name)?.value != null));
  const grid = new Grid(title, [
    {title: page.data.settings.header ?? "group", width: 0, cell: (group) => labelOf(group.label)},
    {title: "threads", number: true, cell: threadsOf, order: (group) => group.threads},
    ...names.map((name) => {
      const row = (group) => group.byName.get(name);
      return {title: name, number: true, most: 20, order: (group) => valueNumber(row(group)?.value),
        cell: (group) => row(group) ? cellOf(page.format(row(group).value, row(group).metric), row(group).reason) : absent("not sent")};
    })]);
  grid.setRows(groups);
  page.grids.push(grid);
  return [grid.element, grid.more];
}
