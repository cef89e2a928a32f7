// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";

// What is seen before it is read: the largest movers, where the time of threads went, pressure. Bars
// tell how much, never good or bad: whether more is better depends on the workload.

const MOVERS_SHOWN = 12;
const GROUPS_SHOWN = 12;

function groupButton(page, group, metric = "") {
  const button = make("button", {type: "button", class: "link", title: `${group.label}: show its rows`}, labelOf(group.label));
  button.addEventListener("click", () => page.table.show(group.label, metric));
  return button;
}

// A table of few rows that is not virtual: [title, kind] and rows of cells.
function smallTable(label, heads, rows) {
  return make("div", {class: "wide"}, make("table", {class: "small", "aria-label": label},
    make("thead", {}, make("tr", {}, heads.map(([title, kind, hint]) => make("th", {scope: "col", class: kind, title: hint ?? ""}, title)))),
    make("tbody", {}, rows.map((cells) => make("tr", {}, cells.map((cell, i) => make("td", {class: heads[i][1]}, cell)))))));
}

// Largest movers.
class Movers {
  constructor(page) {
    this.page = page;
    const {isPair, groups} = page.data;
    const metrics = [...page.totals.keys()].sort((a, b) => a.index - b.index);
    const choices = metrics.map((metric) => [String(metric.index), metric.name]);
    if (isPair)
      choices.unshift(["", "any metric, by impact"]);
    this.choice = selectOf("By", choices, () => this.draw());
    this.choice.select.id = "movers-metric";
    const runTime = metrics.find((metric) => metric.name === "run_time_ns");
    if (!isPair && runTime)
      this.choice.select.value = String(runTime.index);
    this.body = make("div");
    if (groups.length > 0 && metrics.length > 0)
      part("movers", "Movers", isPair ? "Largest movers" : "Largest groups", make("div", {class: "controls"}, this.choice.field), this.body);
    this.draw();
  }

  draw() {
    const {page} = this, {isPair, groups} = page.data;
    const wanted = this.choice.select.value;
    const amountOf = (row) => wanted === "" ? impactOf(row, page.totals) ?? 0 : Math.abs(Number(isPair ? row.delta : row.value));
    const best = [];
    for (const group of groups) {
      let row = null;
      for (const candidate of group.rows)
        if (candidate.metric.sum && (wanted === "" || String(candidate.metric.index) === wanted) &&
            (isPair ? candidate.delta : candidate.value) !== null && (!row || amountOf(candidate) > amountOf(row)))
          row = candidate;
      if (row && amountOf(row) > 0)
        best.push(row);
    }
    best.sort((a, b) => amountOf(b) - amountOf(a));
    const shown = best.slice(0, MOVERS_SHOWN);
    const scale = shown.length > 0 ? amountOf(shown[0]) : 1;
    const {format} = page;
    const rows = shown.map((row) => isPair
      ? [groupButton(page, row.group, row.metric.name), row.metric.name, balance(amountOf(row) / scale, Number(row.delta) < 0),
        formatShare(impactOf(row, page.totals)), page.formatDelta(row), cellOf(page.formatPercent(row), "no percent of 0"),
        cellOf(format(row.before, row.metric), row.reason), cellOf(format(row.after, row.metric), row.reason)]
      : [groupButton(page, row.group, row.metric.name), bar(amountOf(row) / scale), formatShare(impactOf(row, page.totals)),
        format(row.value, row.metric), threadsOf(row.group)]);
    const heads = isPair
      ? [[page.data.settings.header, "name"], ["metric", ""], ["", "graph"], ["impact", "number", IMPACT_HINT], ["delta", "number"],
        ["%", "number"], ["before", "number"], ["after", "number"]]
      : [[page.data.settings.header, "name"], ["", "graph"], ["share", "number", SHARE_HINT], ["value", "number"], ["threads", "number"]];
    const said = wanted !== "" ? `${plural(best.length, "group")} moved. `
      : "For each group the metric of which it moved the largest share. ";
    this.body.replaceChildren(shown.length > 0 ? smallTable("Largest movers", heads, rows) : note(isPair ? "Nothing that adds up over threads moved." : "No group has a value of this metric."),
      note((isPair ? said + "Bars to the left fell, to the right grew; all are" : "Bars are") + " to the scale of the largest." + page.cut()));
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
// These overlap the parts above and each other (reclaim runs on a CPU), so they are numbers beside them.
const DELAYS = ["blkio", "swapin", "thrashing", "freepages", "compact", "wpcopy", "irq"];
const SIDES = {between: "delta", before: "before", after: "after", now: "value"};

class TimeParts {
  constructor(page) {
    this.page = page;
    const {data} = page;
    this.side = !data.isPair ? "now" : data.info.sameBoot ? "between" : "after";
    this.withSleep = false;
    this.shown = GROUPS_SHOWN;
    this.body = make("div");
    const sides = [["between", "between the two"], ["before", "up to BEFORE"], ["after", "up to AFTER"]];
    const choice = selectOf("Time", data.info.sameBoot ? sides : sides.slice(1), (value) => {
      this.side = value;
      this.draw();
    });
    choice.select.id = "time-side";
    choice.select.value = this.side;
    const sleep = checkbox("with sleep", false, (checked) => {
      this.withSleep = checked;
      this.draw();
    });
    if (data.groups.some((group) => PARTS.some(({metric}) => group.byName.has(metric))))
      part("time", "Time", "Where the time went", make("div", {class: "controls"}, data.isPair ? choice.field : null, sleep, this.legend()), this.body);
    this.draw();
  }

  legend() {
    return make("span", {class: "legend"}, PARTS.map(({name}, i) => make("span", {}, make("i", {class: "swatch part" + i}), name)));
  }

  // {value: nanoseconds, null when not measured, reason}
  measure(group, {metric, other, less}) {
    const key = SIDES[this.side];
    let row = group.byName.get(metric);
    if ((!row || row[key] === null) && other)
      row = group.byName.get(other) ?? row;
    if (!row || row[key] === null || row[key] === undefined)
      return {value: null, reason: row ? whyAbsent(row) : "left out by --metrics or --sections"};
    if (!less)
      return {value: BigInt(row[key]), row};
    const part = group.byName.get(less)?.[key];
    if (part === null || part === undefined)
      return {value: BigInt(row[key]), row, whole: true};
    return {value: BigInt(row[key]) - BigInt(part), row};
  }

  draw() {
    const {page} = this;
    const used = PARTS.map((part, i) => ({...part, i})).filter(({name}) => this.withSleep || name !== "sleep");
    const groups = page.data.groups.map((group) => {
      const parts = used.map((part) => ({...this.measure(group, part), i: part.i, name: part.name}));
      // What fell is time of threads that are gone: no length tells that.
      const total = parts.reduce((sum, {value}) => value !== null && value > 0n ? sum + value : sum, 0n);
      return {group, parts, total};
    }).filter(({parts}) => parts.some(({value}) => value !== null && value !== 0n));
    groups.sort((a, b) => a.total < b.total ? 1 : a.total > b.total ? -1 : 0);
    const shown = groups.slice(0, this.shown);
    const most = shown.length > 0 ? Number(shown[0].total) || 1 : 1;
    const delays = DELAYS.filter((name) => groups.some(({group}) => isNumber(group.byName.get(name + "_delay_total_ns")?.[SIDES[this.side]])));
    const nothing = used.filter((part) => groups.every(({parts}) => parts.find(({i}) => i === part.i).value === null));
    const columns = used.filter((part) => !nothing.includes(part));
    const signed = {signed: this.side === "between"};
    const ns = {unit: "ns", name: ""};
    const rows = shown.map(({group, parts, total}) => [
      groupButton(page, group, "*_ns"), this.stack(parts, Number(total), most),
      ...columns.map(({i}) => {
        const {value, reason} = parts.find((part) => part.i === i);
        return cellOf(page.format(value, ns, signed), reason);
      }),
      ...delays.map((name) => {
        const row = group.byName.get(name + "_delay_total_ns");
        return cellOf(page.format(row?.[SIDES[this.side]] ?? null, ns, signed), row && whyAbsent(row));
      })]);
    const heads = [[page.data.settings.header, "name"], ["", "graph stack"],
      ...columns.map(({name, metric}) => [name, "number", metric]),
      ...delays.map((name) => [name + " delay", "number overlaps", `${name}_delay_total_ns: overlaps the parts of the bar`])];
    const more = make("button", {type: "button", hidden: groups.length <= this.shown}, `${Math.min(100, groups.length - this.shown)} more groups`);
    more.addEventListener("click", () => {
      this.shown += 100;
      this.draw();
    });
    this.body.replaceChildren(
      shown.length > 0 ? smallTable("Where the time went", heads, rows) : note("No group has any of this."), more,
      ...this.missing(nothing, groups),
      note("Bars are to the scale of the largest group" + (this.withSleep ? ". " : ", without sleep. ") +
        (this.side === "between" ? "What fell, because threads ended, has no length: its number tells. " : "") +
        "Delays of taskstats overlap these parts and each other, and are no part of a bar." + page.cut()));
  }

  stack(parts, total, most) {
    const element = make("span", {class: "bar"});
    const said = [];
    for (const {value, i, name} of parts) {
      if (value === null || value <= 0n)
        continue;
      const fill = make("i", {class: "fill part" + i});
      fill.style.width = Number(value) / most * 100 + "%";
      element.append(fill);
      said.push(`${name} ${(Number(value) / total * 100).toFixed(1)}%`);
    }
    const missing = parts.filter(({value}) => value === null).map(({name}) => name);
    element.title = said.join(", ") + (missing.length > 0 ? `; not measured: ${missing.join(", ")}` : "");
    element.setAttribute("role", "img");
    element.setAttribute("aria-label", element.title);
    return element;
  }

  // Parts that no group has are said once, with why.
  missing(nothing, groups) {
    if (nothing.length === 0 || groups.length === 0)
      return [];
    const why = new Map();
    for (const part of nothing) {
      const {reason} = this.measure(groups[0].group, part);
      why.set(reason, [...(why.get(reason) ?? []), part.name]);
    }
    return [...why].map(([reason, names]) => note("Not measured, so no part of any bar: ", make("b", {}, names.join(", ")), ` (${reason || "no reason is known"}).`));
  }
}

// Pressure: the share of time in which some, or all, of the tasks stood still for want of a resource.
function pressurePart(page) {
  const {sections, info, isPair} = page.data;
  const tables = [["host-pressure", "The host"], ["pressure", "Cgroups"]].filter(([name]) => sections[name]?.length > 0);
  if (tables.length === 0)
    return;
  const elapsed = isPair && info.sameBoot && Number(info.elapsedNs) > 0 ? Number(info.elapsedNs) / 1000 : null;
  const nodes = [];
  for (const [name, title] of tables) {
    // Stalls that never happened would fill a page: all cgroups by all resources.
    const rows = sections[name].filter((row) => name === "host-pressure" || pressureAmount(row) > 0);
    rows.sort((a, b) => name === "host-pressure" ? 0 : pressureAmount(b, isPair) - pressureAmount(a, isPair));
    const shown = rows.slice(0, 24);
    nodes.push(make("h3", {}, title), smallTable(title, pressureHeads(name, elapsed), shown.map((row) => pressureCells(row, name, elapsed))));
    if (name === "pressure")
      nodes.push(note(`${plural(shown.length, "row")} of ${sections[name].length.toLocaleString("en")}, the longest stalls first; all are under Sections.`));
  }
  part("pressure", "Pressure", "Pressure", nodes, note("Averages are the kernel's, over the last 10, 60 and 300 seconds before each snapshot; hollow bars are BEFORE" +
    (elapsed === null ? "." : ". Stalled: the growth of total, as a share of the time between the two snapshots.")));
}

function sidesOf(value) {
  return value !== null && typeof value === "object" ? value : {after: value, before: undefined, delta: undefined};
}

function pressureAmount(row, isPair = false) {
  const total = sidesOf(row.total_usec);
  return Number((isPair ? total.delta : null) ?? total.after ?? 0);
}

function pressureHeads(name, elapsed) {
  return [...(name === "pressure" ? [["cgroup", "name"]] : []), ["resource", ""], ["tasks", "", "some: at least one stood still; full: all did"],
    ...["avg10", "avg60", "avg300"].map((title) => [title, "number meter"]), ["total", "number", "Since boot, or since the cgroup was made"],
    ...(elapsed === null ? [] : [["between", "number", "The growth of total"], ["stalled", "number", "The growth of total as a share of the time in between"], ["", "graph"]])];
}

function pressureCells(row, name, elapsed) {
  const total = sidesOf(row.total_usec);
  const share = elapsed === null || !isNumber(total.delta) ? null : Number(total.delta) / elapsed;
  const why = "not readable, or not there, on a side";
  return [...(name === "pressure" ? [labelOf(printable(row.cgroup))] : []), row.resource, row.row,
    ...["avg10", "avg60", "avg300"].map((key) => pressureMeter(sidesOf(row[key]))),
    cellOf(isNumber(total.after) ? formatQuantity(total.after, "us") : null, "not readable, or not there"),
    ...(elapsed === null ? [] : [cellOf(share === null ? null : formatQuantity(total.delta, "us", {signed: true}), why),
      cellOf(share === null ? null : (share * 100).toFixed(2) + "%", why), share === null ? "" : bar(share)])];
}

function pressureMeter({before, after}) {
  const show = (value) => isNumber(value) ? formatHundredths(value) : "-";
  if (!isNumber(before) && !isNumber(after))
    return absent("not readable, or not there");
  const text = before === undefined || before === after ? show(after) : `${show(before)} → ${show(after)}`;
  return [text, isNumber(before) ? bar(Number(before) / 10000, "hollow") : null, isNumber(after) ? bar(Number(after) / 10000) : null];
}
