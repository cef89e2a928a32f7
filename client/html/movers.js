// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";

// What did most, or changed most: of each group several metrics, for one alone seldom tells the story.
// Bars tell how much, never good or bad: whether more is better depends on the workload.

const MOVERS_SHOWN = 12;
const METRICS_OF_MOVER = 3;
// Below this share of the largest of its group a metric adds nothing.
const LEAST_BESIDE = 0.05;
// One counter that two sources have under two names is told once.
const TWINS = {cpu_delay_total_ns: "wait_time_ns", cpu_delay_count: "timeslices"};

// The name of a group, which leads to its rows; only in the first of several rows of one group.
function groupColumn(page, metricOf) {
  return [page.data.settings.header, "name", (row) => row.again ? "" : make("span", {class: "named"},
    rowsButton(page, row.group, labelOf(row.group.label), metricOf(row)), markOf(page.data, row.group))];
}

function rowsButton(page, group, text, metric) {
  const commands = group.commands?.length > 1 ? `\n${namesOf(group, "commands")}` : "";
  const button = make("button", {type: "button", class: "link", title: `${group.label}: show its rows${commands}`}, text);
  button.addEventListener("click", () => page.table.show(group.label, metric));
  return button;
}

// That a group is of one side alone: it was not there on the other, which is not "did nothing" there.
function markOf({kind, isPair, sides}, group) {
  if (kind === "interval" && group.threadsBefore === 0 && group.threadsAfter === 0)
    return make("span", {class: "mark"}, "new, ended");
  const side = group.side ?? (isPair && group.threadsBefore === 0 ? "after" : isPair && group.threadsAfter === 0 ? "before" : null);
  if (!side)
    return null;
  const words = {interval: {before: "ended", after: "new"}}[kind] ??
    {before: `only in ${sides.names[0]}`, after: `only in ${sides.names[1]}`};
  return make("span", {class: "mark"}, words[side]);
}

class Movers {
  constructor(page) {
    this.page = page;
    const {sides, groups} = page.data;
    const metrics = [...page.totals.keys()].sort((a, b) => a.index - b.index);
    const choices = metrics.map((metric) => [String(metric.index), metric.name]);
    choices.unshift(["", sides.compares ? "any metric, by impact" : "any metric, by share"]);
    this.choice = selectOf("By", "movers-metric", choices, () => this.draw());
    this.body = make("div");
    if (groups.length > 0 && metrics.length > 0)
      part("movers", "Movers", sides.compares ? "Largest movers" : "Largest groups",
        make("div", {class: "controls"}, this.choice.field), this.body);
    this.draw();
  }

  // The rows of a group that are told, the largest first.
  rowsOf(group, wanted) {
    const {totals} = this.page;
    const isTold = ({metric, moved}) => metric.sum && isNumber(moved) && Number(moved) !== 0 && (wanted === ""
      ? !group.byName.has(TWINS[metric.name]) : String(metric.index) === wanted);
    return group.rows.filter(isTold).map((row) => ({row, group, size: impactOf(row, totals)}))
      .sort((a, b) => b.size - a.size).filter(({size}, i, all) => size >= all[0].size * LEAST_BESIDE)
      .slice(0, METRICS_OF_MOVER).map((row, i) => ({...row, again: i > 0}));
  }

  // Lists of rows, one of each group: those of any metric by weight, where that is known.
  find() {
    const wanted = this.choice.select.value, isAny = wanted === "";
    const found = this.page.data.groups.map((group) => this.rowsOf(group, wanted)).filter((rows) => rows.length > 0);
    return found.sort(([a], [b]) => (isAny ? weightOf(b.group) - weightOf(a.group) : 0) || b.size - a.size);
  }

  columns(most) {
    const {page} = this, {sides, kind} = page.data;
    const value = (key) => ({row}) => cellOf(page.formatSide(row, key), whyAbsent(row, key));
    const share = ({row}) => formatShare(impactOf(row, page.totals));
    const first = [
      groupColumn(page, ({row}) => row.metric.name),
      ["metric", "metric", ({row, group}) => rowsButton(page, group, row.metric.name, row.metric.name)],
      ["", "graph", ({row, size}) => sides.compares ? balance(size / most, Number(row.moved) < 0) : bar(size / most)],
    ];
    if (sides.compares)
      return [...first,
        ["impact", "number", share, IMPACT_HINT],
        ["delta", "number", ({row}) => page.formatMoved(row)],
        ["%", "number", ({row}) => cellOf(page.formatPercent(row), "there is no percent of 0")],
        [page.data.titleOf("before"), "number", value("before")],
        [page.data.titleOf("after"), "number", value("after")]];
    return [...first,
      ["share", "number", share, SHARE_HINT],
      [kind === "interval" ? "done" : "value", "number", ({row}) => page.format(row.moved, row.metric)],
      ...kind === "interval" ? [["per second", "number", ({row}) => cellOf(page.formatRate(row), "not a counter")]] : [],
      ["threads", "number", ({group, again}) => again ? "" : threadsOf(group)]];
  }

  draw() {
    const {page} = this, {sides} = page.data, isAny = this.choice.select.value === "";
    const found = this.find(), shown = found.slice(0, MOVERS_SHOWN).flat();
    const most = shown.reduce((size, row) => Math.max(size, row.size), 0);
    const nothing = sides.compares ? "Nothing that adds up over threads moved." : "No group has any of it.";
    const said = isAny ? `For each group the metrics of which it ${sides.compares ? "moved" : "has"} the largest share. `
      : `${plural(found.length, "group")}. `;
    const scale = (sides.compares ? "Bars to the left fell, to the right grew; all are" : "Bars are") +
      " to the scale of the largest.";
    this.body.replaceChildren(
      found.length > 0 ? smallTable("Largest movers", this.columns(most), shown) : note(nothing),
      note(said + scale + page.cut()));
  }
}
