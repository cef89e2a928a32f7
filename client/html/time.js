// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";

// Where the time of the threads of a group went, in parts that do not overlap and add up to how long its
// threads were alive: the heaviest groups first, those of one side among them.

const GROUPS_SHOWN = 12;
const WAITS_SHOWN = 2;
const TIME_PARTS = [
  {key: "runningNs", name: "running"},
  {key: "waitingNs", name: "waiting for a CPU", title: "waiting"},
  {key: "storageNs", name: "blocked on storage", title: "storage"},
  {key: "blockedNs", name: "blocked otherwise", title: "blocked"},
  {key: "lockNs", name: "waiting for locks", title: "locks"},
  {key: "asleepNs", name: "asleep"},
];
const WHY_NO_TIME = {
  storageNs: "neither delay accounting nor schedstats told",
  blockedNs: "schedstats are off or not built in: what is not running, waiting or blocked on storage is asleep or blocked",
  asleepNs: "the other parts are not all known",
};
// These overlap the parts above and each other (reclaim runs on a CPU): numbers beside the bars. What was
// waited for storage is a part itself.
const DELAYS = ["swapin", "thrashing", "freepages", "compact", "wpcopy", "irq"];
const NANOSECONDS = {unit: "ns"};

// What is asleep for a lock is a part of its own.
function splitTime(time) {
  const lockNs = time?.reasons?.lock;
  return isNumber(lockNs) && isNumber(time.asleepNs)
    ? {...time, lockNs, asleepNs: String(BigInt(time.asleepNs) - BigInt(lockNs))} : time;
}

// The time of each side of a group, or of the only one: null where a side does not have it.
function timesOf({kind}, group) {
  const {side} = group, time = splitTime(group.time);
  if (!time)
    return [];
  const {a, b, before, after} = time;
  if (time.aliveNs === undefined)
    return [splitTime(a ?? before ?? null), splitTime(b ?? after ?? null)];
  return side && (kind === "intervals" || kind === "totals") ? (side === "before" ? [time, null] : [null, time]) : [time];
}

// Of each side, whoever was the parent of more than half of the threads that ended; null where nobody was.
function startersOf({startedBy, exits}) {
  const most = (all, n) => all?.length && 2 * Number(all[0].threads) > Number(n) ? printable(all[0].name) : null;
  return !startedBy || Array.isArray(startedBy) ? [most(startedBy, exits)]
    : ["a", "b"].map((side) => most(startedBy[side], exits?.[side]));
}

class TimeParts {
  constructor(page) {
    this.page = page;
    this.withSleep = false;
    this.shown = GROUPS_SHOWN;
    this.spans = page.data.spans;
    this.rows = page.data.groups.map((group) => ({group, times: timesOf(page.data, group)}))
      .filter(({times}) => times.some((time) => time));
    this.parts = TIME_PARTS.map((part) => ({...part, known: this.rows.some(({times}) =>
      times.some((time) => time && isNumber(time[part.key])))}));
    const [blocked, , asleep] = this.parts.slice(3);
    if (!blocked.known)
      asleep.name = "asleep or blocked";
    this.body = make("div");
    const sleep = checkbox("with sleep", "time-sleep", false, (checked) => {
      this.withSleep = checked;
      this.draw();
    });
    const legend = this.parts.map(({name, known}, i) =>
      known && make("span", {}, make("i", {class: "swatch part" + i}), name));
    if (this.rows.length > 0)
      part("time", "Time", "Where the time went", make("div", {class: "controls"},
        sleep, make("span", {class: "legend"}, legend)), this.body);
    this.draw();
  }

  // The parts of a bar, as shares of one: of a second where the side has a span, else in seconds.
  lengthsOf(time, side) {
    const span = Number(this.spans[side] ?? 1e9);
    return this.parts.map(({key}) =>
      time && isNumber(time[key]) && (this.withSleep || key !== "asleepNs") ? Number(time[key]) / span : 0);
  }

  amount(time, side, {key}) {
    if (!time || !isNumber(time[key]))
      return null;
    const approximate = key === "storageNs" && time.exact === false && !this.page.raw ? "~" : "";
    if (this.page.raw)
      return String(time[key]);
    return approximate + (this.spans[side] === undefined ? formatQuantity(time[key], "ns")
      : formatCpus(time[key], this.spans[side]));
  }

  partColumn(part) {
    // Of a group of one side there is one number.
    const cell = ({times}) => {
      const texts = times.map((time, side) => time && (this.amount(time, side, part) ?? "-")).filter(Boolean);
      return texts.every((text) => text === "-") ? absent(WHY_NO_TIME[part.key]) : [...new Set(texts)].join(" → ");
    };
    return [part.title ?? part.name, "number", cell,
      this.spans.length > 0 ? "CPUs: seconds in each second" : "Added up over the threads of the group"];
  }

  // What the rest of the time was for, of each side the most of it: locks are a part of the bar.
  waitsColumn() {
    const amounts = (time, side) => Object.entries(time?.reasons ?? {}).filter(([name, ns]) => name !== "lock" && Number(ns) > 0)
      .concat(Number(time?.syncNs ?? 0) > 0 ? [["sync", time.syncNs]] : []).sort(([, a], [, b]) => Number(b) - Number(a))
      .map(([name, ns]) => name + " " + (this.page.raw ? ns : this.spans[side] === undefined ? formatQuantity(ns, "ns")
        : formatCpus(ns, this.spans[side])));
    const cell = ({times}) => {
      const all = times.map((time, side) => amounts(time, side));
      if (!times.some((time) => time?.reasons))
        return absent(times.map((time) => time?.reasonsReason).find(Boolean));
      return make("span", {title: all.map((texts) => texts.join(", ") || "-").join(" \u2192 ")},
        all.map((texts) => texts.slice(0, WAITS_SHOWN).join(", ") || "-").join(" \u2192 "));
    };
    return ["waits for", "", cell, "What threads that are asleep wait for, and how many of them do; sync is part of storage or blocked"];
  }

  startersColumn() {
    const all = ({startedBy}) => [startedBy?.a ?? startedBy, startedBy?.b].map((list) => Array.isArray(list)
      && list.map(({name, threads}) => `${printable(name)} ${threads}`).join(", ")).filter(Boolean).join(" \u2192 ");
    const cell = ({group}) => {
      const names = [...new Set(startersOf(group))];
      return names.every((name) => name === null) ? absent("nobody started more than half of what ended, or it is not known")
        : make("span", {title: all(group)}, names.map((name) => name ?? "-").join(" \u2192 "));
    };
    return ["started by", "", cell, "The parent of more than half of the threads that ended"];
  }

  // What stands beside the bars: of an interval, what was done in it.
  metricColumn(title, name, hint) {
    const {page} = this, {kind} = page.data;
    const cell = ({group}) => {
      const row = group.byName.get(name);
      if (!row)
        return absent("left out by --metrics or --sections");
      if (kind === "interval")
        return cellOf(page.formatRate(row), row.reason || "the work of threads that ended is not known");
      return cellOf(group.side ? page.formatSide(row, group.side) : page.data.isPair ? page.formatBoth(row)
        : page.formatSide(row, "value"), row.reason);
    };
    return [title, "number", cell, hint ?? name];
  }

  delayColumns() {
    return DELAYS.map((name) => name + "_delay_total_ns")
      .filter((name) => this.rows.some(({group}) => Number(group.byName.get(name)?.moved ?? 0) !== 0))
      .map((name) => {
        const column = this.metricColumn(name.replace("_delay_total_ns", " delay"), name, `${name}: overlaps the parts of the bar`);
        return [column[0], "number overlaps", ...column.slice(2)];
      });
  }

  columns(most) {
    const has = (name) => this.rows.some(({group}) => group.byName.has(name));
    const hasWeight = this.rows.some(({group}) => isNumber(group.weight));
    return [
      groupColumn(this.page, () => "*_ns"),
      ["", "graph stack", ({times}) => times.map((time, side) => this.stack(time, side, most))],
      ...hasWeight ? [["weight", "number", ({group}) => cellOf(formatWeight(group.weight, this.page.data), "not known"),
        "The larger of two shares: of the time of all CPUs, and of what storage moved"]] : [],
      ["threads", "number", ({group}) => threadsOf(group)],
      ...this.parts.filter(({key, known}) => known && (this.withSleep || key !== "asleepNs"))
        .map((part) => this.partColumn(part)),
      ...this.rows.some(({times}) => times.some((time) => time?.reasons)) ? [this.waitsColumn()] : [],
      ...this.rows.some(({group}) => startersOf(group).some(Boolean)) ? [this.startersColumn()] : [],
      ...["read", "write"].filter((word) => has(word + "_bytes"))
        .map((word) => this.metricColumn(word === "read" ? "read" : "written", word + "_bytes")),
      // There is no room for these of two sides; the table of all metrics has them.
      ...this.rows.some(({times}) => times.length > 1) ? [] : this.delayColumns(),
    ];
  }

  stack(time, side, most) {
    const element = make("span", {class: "bar", role: "img"}), said = [];
    const lengths = this.lengthsOf(time, side), sum = lengths.reduce((all, length) => all + length, 0);
    lengths.forEach((length, i) => {
      if (!(length > 0))
        return;
      const fill = make("i", {class: "fill part" + i});
      fill.style.width = length / most * 100 + "%";
      element.append(fill);
      said.push(`${this.parts[i].name} ${(length / sum * 100).toFixed(1)}%`);
    });
    const sideName = this.rows.some(({times}) => times.length > 1) ? this.page.data.sides.names[side] + ": " : "";
    element.title = sideName + (time ? said.join(", ") || "nothing" : "no such group");
    element.setAttribute("aria-label", element.title);
    return element;
  }

  draw() {
    const {page} = this;
    const sums = this.rows.map(({times}) => Math.max(...times.map((time, side) =>
      this.lengthsOf(time, side).reduce((all, length) => all + length, 0))));
    const most = Math.max(...sums, Number.MIN_VALUE);
    const used = this.rows.filter((row, i) => sums[i] > 0 || weightOf(row.group) > 0);
    const table = smallTable("Where the time went", this.columns(most), used.slice(0, this.shown));
    const unknown = this.parts.filter(({key, known}) => !known && key !== "blockedNs" && key !== "lockNs");
    this.body.replaceChildren(used.length > 0 ? table : note("No group has any of this."), this.moreButton(used.length),
      ...unknown.map(({key, name}) => note("Not measured, so no part of any bar: ", make("b", {}, name),
        ` (${WHY_NO_TIME[key] ?? "not told"}).`)),
      note(this.scaleText() + page.cut()));
  }

  scaleText() {
    const two = this.rows.some(({times}) => times.length > 1), [first, second] = this.page.data.sides.names;
    return "Bars are to the scale of the longest" + (this.withSleep ? "" : ", without sleep") +
      (two ? `; the upper is ${first}, the lower ${second}. ` : ". ") +
      (this.spans.length > 0 ? "Times are CPUs: seconds in each second. " : "Times are of whole lives. ") +
      (this.rows.some(({times}) => times.some((time) => time?.exact === false))
        ? "~: this kernel counts waiting for storage only approximately. " : "") +
      (two ? "" : "Delays overlap these parts and each other, and are no part of a bar.");
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
}
