// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";

const STALLS_SHOWN = 24;

// Pressure: the share of time in which some, or all, of the tasks stood still for want of a resource.
function pressurePart({data: {sections, info, isPair, kind}}) {
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
  const show = (value) => isNumber(value) ? formatPressure(value) : "-";
  if (!isNumber(before) && !isNumber(after))
    return absent(why ?? "not readable, or not there");
  const text = before === undefined || before === after ? show(after) : `${show(before)} → ${show(after)}`;
  return [text, isNumber(before) && bar(Number(before) / 10000, "hollow"),
    isNumber(after) && bar(Number(after) / 10000)];
}
