// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";

// What is seen before it is read: the largest movers, where the time of threads went, pressure. Bars
// tell how much, never good or bad: whether more is better depends on the workload.

const MOVERS_SHOWN = 12;
const GROUPS_SHOWN = 12;
const STALLS_SHOWN = 24;

function groupColumn(page, metricOf) {
  return [page.data.settings.header, "name", ({group, ...row}) => {
    const title = `${group.label}: show its rows`;
    const button = make("button", {type: "button", class: "link", title}, labelOf(group.label));
    button.addEventListener("click", () => page.table.show(group.label, metricOf(row)));
    return button;
  }];
}

class Movers {
  constructor(page) {
    this.page = page;
    const {isPair, groups} = page.data;
    const metrics = [...page.totals.keys()].sort((a, b) => a.index - b.index);
    const choices = metrics.map((metric) => [String(metric.index), metric.name]);
    if (isPair)
      choices.unshift(["", "any metric, by impact"]);
    this.choice = selectOf("By", "movers-metric", choices, () => this.draw());
    const runTime = metrics.find(({name}) => name === "run_time_ns");
    if (!isPair && runTime)
      this.choice.select.value = String(runTime.index);
    this.body = make("div");
    if (groups.length > 0 && metrics.length > 0)
      part("movers", "Movers", isPair ? "Largest movers" : "Largest groups",
        make("div", {class: "controls"}, this.choice.field), this.body);
    this.draw();
  }

  // Of each group its largest row, or that of the metric that was chosen; the largest first.
  find() {
    const {data, totals} = this.page, wanted = this.choice.select.value;
    const sizeOf = (row) => wanted === "" ? impactOf(row, totals) : Math.abs(Number(movedBy(row)));
    const found = [];
    for (const group of data.groups) {
      let largest = null;
      for (const row of group.rows) {
        const isWanted = row.metric.sum && (wanted === "" || String(row.metric.index) === wanted);
        if (isWanted && movedBy(row) !== null && sizeOf(row) > (largest?.size ?? 0))
          largest = {row, group, size: sizeOf(row)};
      }
      if (largest)
        found.push(largest);
    }
    return found.sort((a, b) => b.size - a.size);
  }

  draw() {
    const {page} = this, {isPair} = page.data, isAny = this.choice.select.value === "";
    const found = this.find(), most = found[0]?.size;
    const value = (key) => ({row}) => cellOf(page.formatSide(row, key), whyAbsent(row, key));
    const share = ({row}) => formatShare(impactOf(row, page.totals));
    const columns = isPair ? [
      groupColumn(page, ({row}) => row.metric.name),
      ["metric", "", ({row}) => row.metric.name],
      ["", "graph", ({row, size}) => balance(size / most, Number(row.delta) < 0)],
      ["impact", "number", share, IMPACT_HINT],
      ["delta", "number", ({row}) => page.formatDelta(row)],
      ["%", "number", ({row}) => cellOf(page.formatPercent(row), "there is no percent of 0")],
      ["before", "number", value("before")],
      ["after", "number", value("after")],
    ] : [
      groupColumn(page, ({row}) => row.metric.name),
      ["", "graph", ({size}) => bar(size / most)],
      ["share", "number", share, SHARE_HINT],
      ["value", "number", value("value")],
      ["threads", "number", ({group}) => threadsOf(group)],
    ];
    const nothing = isPair ? "Nothing that adds up over threads moved." : "No group has any of it.";
    const said = isPair && isAny ? "For each group the metric of which it moved the largest share. "
      : `${plural(found.length, "group")}. `;
    const scale = (isPair ? "Bars to the left fell, to the right grew; all are" : "Bars are") +
      " to the scale of the largest.";
    this.body.replaceChildren(
      found.length > 0 ? smallTable("Largest movers", columns, found.slice(0, MOVERS_SHOWN)) : note(nothing),
      note(said + scale + page.cut()));
  }
}

// Where the time of the threads of a group went, in parts that do not overlap: on a CPU, waiting for
// one, blocked (of which for I/O), asleep. A part that was not measured is no part of a bar, and said.
const PARTS = [
  {name: "run", metric: "run_time_ns"},
  {name: "wait for a CPU", metric: "wait_time_ns", other: "cpu_delay_total_ns"},
  {name: "I/O wait", metric: "iowait_sum"},
  {name: "other block", metric: "block_sum", less: "iowait_sum"},
  {name: "sleep", metric: "voluntary_sleep_ns"},
];
// These overlap the parts above and each other (reclaim runs on a CPU): numbers beside the bars.
const DELAYS = ["blkio", "swapin", "thrashing", "freepages", "compact", "wpcopy", "irq"];
const SIDES = {between: "delta", before: "before", after: "after", now: "value"};
const NANOSECONDS = {unit: "ns"};
const LEFT_OUT = "left out by --metrics, --sections or --threshold";

class TimeParts {
  constructor(page) {
    this.page = page;
    const {groups, info, isPair} = page.data;
    this.side = !isPair ? "now" : info.sameBoot ? "between" : "after";
    this.withSleep = false;
    this.shown = GROUPS_SHOWN;
    this.body = make("div");
    const sides = [["between", "between the two"], ["before", "up to BEFORE"], ["after", "up to AFTER"]];
    const choice = selectOf("Time", "time-side", info.sameBoot ? sides : sides.slice(1), (value) => {
      this.side = value;
      this.draw();
    });
    choice.select.value = this.side;
    const sleep = checkbox("with sleep", "time-sleep", false, (checked) => {
      this.withSleep = checked;
      this.draw();
    });
    const legend = PARTS.map(({name}, i) => make("span", {}, make("i", {class: "swatch part" + i}), name));
    if (groups.some(({byName}) => PARTS.some(({metric}) => byName.has(metric))))
      part("time", "Time", "Where the time went", make("div", {class: "controls"},
        isPair && choice.field, sleep, make("span", {class: "legend"}, legend)), this.body);
    this.draw();
  }

  // Nanoseconds on the chosen side; null when they were not measured.
  read(group, name) {
    const value = group.byName.get(name)?.[SIDES[this.side]];
    return isNumber(value) ? BigInt(value) : null;
  }

  measure(group, {metric, other, less}) {
    const value = this.read(group, metric) ?? (other ? this.read(group, other) : null);
    if (value === null || !less)
      return value;
    // Blocked beside I/O is what is left; without its share for I/O nothing tells how much that is.
    const taken = this.read(group, less);
    return taken === null ? null : value - taken;
  }

  why(group, {metric, less}) {
    const row = group.byName.get(this.read(group, metric) !== null && less ? less : metric);
    return row ? row.reason || "no reason is known" : LEFT_OUT;
  }

  draw() {
    const {page} = this;
    const used = PARTS.filter(({name}) => this.withSleep || name !== "sleep");
    const rows = page.data.groups.map((group) => {
      const values = new Map(used.map((part) => [part, this.measure(group, part)]));
      // What fell is time of threads that are gone: no length tells that.
      const total = [...values.values()].reduce((sum, value) => value > 0n ? sum + value : sum, 0n);
      return {group, values, total};
    }).filter(({values}) => [...values.values()].some((value) => value !== null && value !== 0n));
    rows.sort((a, b) => compareNumbers(b.total, a.total));

    const nothing = used.filter((part) => rows.every(({values}) => values.get(part) === null));
    const delays = DELAYS.map((name) => name + "_delay_total_ns")
      .filter((name) => rows.some(({group}) => this.read(group, name) !== null));
    const form = {signed: this.side === "between"};
    const most = Number(rows[0]?.total) || 1;
    const columns = [
      groupColumn(page, () => "*_ns"),
      ["", "graph stack", (row) => this.stack(row, most)],
      ...used.filter((part) => !nothing.includes(part)).map((part) => [part.name, "number",
        ({group, values}) => cellOf(page.format(values.get(part), NANOSECONDS, form), this.why(group, part)),
        part.metric]),
      ...delays.map((metric) => [metric.replace("_delay_total_ns", " delay"), "number overlaps",
        ({group}) => cellOf(page.format(this.read(group, metric), NANOSECONDS, form), this.why(group, {metric})),
        `${metric}: overlaps the parts of the bar`]),
    ];
    const table = smallTable("Where the time went", columns, rows.slice(0, this.shown));
    this.body.replaceChildren(rows.length > 0 ? table : note("No group has any of this."),
      this.moreButton(rows.length), ...this.missing(nothing, rows),
      note("Bars are to the scale of the largest group" + (this.withSleep ? ". " : ", without sleep. ") +
        (form.signed ? "What fell, because threads ended, has no length: its number tells. " : "") +
        "Delays of taskstats overlap these parts and each other, and are no part of a bar." + page.cut()));
  }

  moreButton(n) {
    const text = `${Math.min(100, n - this.shown)} more groups`;
    const button = make("button", {type: "button", hidden: n <= this.shown}, text);
    button.addEventListener("click", () => {
      this.shown += 100;
      this.draw();
    });
    return button;
  }

  stack({group, values, total}, most) {
    const element = make("span", {class: "bar", role: "img"}), said = [];
    for (const [part, value] of values) {
      if (value === null)
        said.push(`${part.name} ${this.why(group, part) === LEFT_OUT ? LEFT_OUT : "not measured"}`);
      if (!(value > 0n))
        continue;
      const fill = make("i", {class: "fill part" + PARTS.indexOf(part)});
      fill.style.width = Number(value) / most * 100 + "%";
      element.append(fill);
      said.push(`${part.name} ${(Number(value) / Number(total) * 100).toFixed(1)}%`);
    }
    element.title = said.join(", ");
    element.setAttribute("aria-label", element.title);
    return element;
  }

  // Parts that no group has are said once, with why.
  missing(nothing, rows) {
    const reasons = new Map();
    for (const part of rows.length > 0 ? nothing : []) {
      const reason = this.why(rows[0].group, part);
      reasons.set(reason, [...reasons.get(reason) ?? [], part.name]);
    }
    return [...reasons].map(([reason, names]) =>
      note(reason === LEFT_OUT ? "Not in this page" : "Not measured", ", so no part of any bar: ",
        make("b", {}, names.join(", ")), ` (${reason}).`));
  }
}

// Pressure: the share of time in which some, or all, of the tasks stood still for want of a resource.
function pressurePart({data: {sections, info, isPair}}) {
  // Microseconds, as the totals.
  const elapsed = isPair && info.sameBoot && Number(info.elapsedNs) > 0 ? Number(info.elapsedNs) / 1000 : null;
  const sidesOf = (value) => value !== null && typeof value === "object" ? value : {after: value};
  const stalled = (row) => {
    const {after, delta} = sidesOf(row.total_usec);
    return Number((isPair ? delta : null) ?? after ?? 0);
  };
  const delta = (row, show) => {
    const moved = sidesOf(row.total_usec).delta;
    return isNumber(moved) ? show(moved) : absent(row.reason ?? "not readable, or not there, on a side");
  };
  const columns = [
    ["resource", "", ({resource}) => resource],
    ["tasks", "", ({row}) => row, "some: at least one stood still; full: all did"],
    ...["avg10", "avg60", "avg300"].map((name) =>
      [name, "number meter", (row) => pressureMeter(sidesOf(row[name]), row.reason)]),
    ["total", "number", (row) => sideText(sidesOf(row.total_usec).after, "us", {why: row.reason}),
      "Since boot, or since the cgroup was made"],
    ...elapsed === null ? [] : [
      ["between", "number", (row) => delta(row, (moved) => formatQuantity(moved, "us", {signed: true})),
        "The growth of total"],
      ["stalled", "number", (row) => delta(row, (moved) => (Number(moved) / elapsed * 100).toFixed(2) + "%"),
        "The growth of total as a share of the time in between"],
      ["", "graph", (row) => delta(row, (moved) => bar(Number(moved) / elapsed))],
    ],
  ];
  const nodes = [];
  if (sections["host-pressure"]?.length > 0)
    nodes.push(make("h3", {}, "The host"), smallTable("The host", columns, sections["host-pressure"]));
  // Stalls that never happened would fill a page: all cgroups by all resources.
  const cgroups = (sections.pressure ?? []).filter((row) => stalled(row) > 0).sort((a, b) => stalled(b) - stalled(a));
  if (cgroups.length > 0)
    nodes.push(make("h3", {}, "Cgroups"), smallTable("Cgroups",
      [["cgroup", "name", ({cgroup}) => labelOf(printable(cgroup))], ...columns], cgroups.slice(0, STALLS_SHOWN)),
    note(`The longest stalls first, ${plural(Math.min(cgroups.length, STALLS_SHOWN), "row")} of ` +
      `${sections.pressure.length.toLocaleString("en")}; all are under Sections.`));
  if (nodes.length > 0)
    part("pressure", "Pressure", "Pressure", nodes,
      note("Averages are the kernel's, over the last 10, 60 and 300 seconds before each snapshot." +
        (isPair ? " Hollow bars are BEFORE." : "")));
}

function pressureMeter({before, after}, why) {
  const show = (value) => isNumber(value) ? formatHundredths(value) : "-";
  if (!isNumber(before) && !isNumber(after))
    return absent(why ?? "not readable, or not there");
  const text = before === undefined || before === after ? show(after) : `${show(before)} → ${show(after)}`;
  return [text, isNumber(before) && bar(Number(before) / 10000, "hollow"),
    isNumber(after) && bar(Number(after) / 10000)];
}
