// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";

// What the page is about: its first lines, the captures, and what differs between them and their hosts.

const VALUES_SHOWN = 4;

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

// The sides of the page, each with the heads of its captures in the order of time.
function headSides({info, kind, sides: {names}}) {
  if (kind === "state")
    return [{side: "", heads: [info.snapshot ?? {}]}];
  if (kind === "intervals")
    return [info.a, info.b].map((interval, i) => ({side: names[i], heads: [interval?.before ?? {}, interval?.after ?? {}],
      elapsedNs: interval?.elapsedNs, lives: interval?.lives}));
  const from = [info.beforeFrom, info.afterFrom];
  return [info.before, info.after].map((head, i) =>
    ({side: names[i], heads: Array.isArray(head) ? head : [head], from: from[i] ?? []}));
}

// From the first to the last; a member of a set that is an interval begins at a name of its own.
function nameOf({heads, from = []}) {
  const names = [from[0] ?? heads[0].name, heads.at(-1).name].map((name) => printable(name ?? "?"));
  return heads.length > 1 || from[0] ? names.join("..") : names[0];
}

// What all captures of a side say, or what each says, from the first to the last where it is a time.
function factOf({heads}, [name, member, text]) {
  const known = heads.filter((head) => head[member] !== null && head[member] !== undefined);
  const first = (head, i) => known.findIndex((other) => other[member] === head[member]) === i;
  const values = known.filter(first);
  if (values.length === 0)
    return absent("the snapshot does not say");
  if (heads.length > 2 && /threads|processes/.test(name) && values.length > 1) {
    const numbers = values.map((head) => Number(head[member]));
    return `${text(Math.min(...numbers))} to ${text(Math.max(...numbers))}`;
  }
  const shown = name === "captured" && values.length > 1 ? [values[0], values.at(-1)] : values.slice(0, VALUES_SHOWN);
  const joint = /captured|threads|processes/.test(name) ? " → " : ", ";
  return [shown.map((head, i) => [i > 0 && joint, text(head[member], head)]),
    shown.length < values.length && name !== "captured" && ", …"];
}

// What the view is about, in the lines that a terminal has above its table.
function headPart(page) {
  const {data: {info}, data} = page, names = headSides(data).map(nameOf);
  document.title = names.join(" → ") + " - ctprof";
  const section = part("top", "Summary", "");
  section.querySelector("h2").replaceWith(make("h1", {id: "top-title"}, names.join(" → ")));
  const lines = (info.lines ?? []).filter(([label]) => label !== "missing");
  section.append(make("div", {class: "lines"}, info.command && make("p", {}, commandText(info.command)),
    make("dl", {}, lines.map(([label, text]) => [make("dt", {}, label), make("dd", {}, text)]))));
}

// The captures themselves, and what differs between them.
function capturesPart(page) {
  const {data} = page, {info, isPair} = data;
  const sides = headSides(data), names = sides.map(nameOf);
  const rows = HEAD_FACTS.map((fact) => make("tr", {}, make("th", {scope: "row"}, fact[0]),
    sides.map((side) => make("td", {}, factOf(side, fact)))));
  if (data.kind === "sets")
    rows.unshift(make("tr", {}, make("th", {scope: "row"}, "samples of"), sides.map(({heads, from}) => {
      const intervals = from.filter(Boolean).length, captures = heads.length - intervals;
      return make("td", {}, [captures > 0 && plural(captures, "capture"), intervals > 0 && plural(intervals, "interval")]
        .filter(Boolean).join(", "));
    })));
  if (sides.some(({elapsedNs}) => elapsedNs !== undefined))
    rows.unshift(make("tr", {}, make("th", {scope: "row"}, "elapsed"),
      sides.map(({elapsedNs}) => make("td", {}, cellOf(isNumber(elapsedNs) ? formatSpan(elapsedNs) : null)))));
  const titles = sides.map(({side}, i) => make("th", {scope: "col"}, side, " ", make("b", {}, names[i])));
  const section = part("captures", "Captures", "The captures",
    make("table", {class: "facts"}, isPair && make("thead", {}, make("tr", {}, make("td"), titles)),
      make("tbody", {}, rows)),
    note(contentText(page)));
  if (info.changes?.length > 0)
    section.append(make("h3", {}, "What was set anew"), smallTable("Changes of cgroups and groups",
      [["of", "", (change) => labelOf(change.key === undefined ? printable(change.cgroup) : groupLabel(change))],
        ["what", "", ({what}) => printable(what)],
        ["before", "number", (change) => settingText(change.what, change.before)],
        ["after", "number", (change) => settingText(change.what, change.after)]], info.changes));
  const side = (key) => (change) =>
    cellOf(change[key] === null ? null : printable(change[key]), "not there, or not readable");
  if (info.hostChanges?.length > 0)
    section.append(make("h3", {}, "What differs about the hosts"), smallTable("Differences of the hosts",
      [["key", "", ({key}) => printable(key)], ["before", "wrap", side("before")], ["after", "wrap", side("after")]],
      foldChanges(info.hostChanges)));
}

// A number of what the limit is of; other texts are words, such as "max", as isQuantity() has them.
function settingText(what, value) {
  if (!isQuantity(value))
    return printable(value);
  return what === "cpu.max" ? value + " CPUs" : formatQuantity(value, what.startsWith("memory.") ? "bytes" : "none");
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

// What the page holds of all that there is.
function contentText(page) {
  const {data: {info, kind, groups, lists, sides: {names}, settings}} = page;
  const only = (list, hidden) => lists[list].length + Number(info[hidden] ?? 0);
  const oneSided = kind === "interval" ? `; of ${plural(only("onlyBefore", "hiddenOnlyBefore"), "more group")} no thread lives on`
    : kind === "totals" ? `; ${only("onlyBefore", "hiddenOnlyBefore")} only in ${names[0]}, ` +
    `${only("onlyAfter", "hiddenOnlyAfter")} only in ${names[1]}` : "";
  const n = kind === "sets" ? groups.length : lists.groups.length;
  return `${plural(n, "group")}, grouped by ${settings.view?.groupBy ?? "?"}${oneSided}.` + page.cut() +
    (info.swapped ? " The snapshots were named in the wrong order; the sides were swapped." : "");
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

// Which sources could not be read to the full, and why: what is said of several sides is said once, and
// so is what is said of all sources.
function poorSources({info, kind}) {
  const sides = sourceSides(info, kind);
  const said = new Map();
  for (const [side, sources = []] of sides) {
    // Versions that read no allocator counters said so in every file: nothing went wrong there.
    const read = sources.filter(({name, reason}) =>
      name !== "jemalloc" || reason !== "this version does not read allocator counters");
    const poor = read.filter(({state}) => /^(partial|unavailable)$/.test(state));
    const isUniform = poor.length > 1 && poor.length === read.length &&
      poor.every(({reason}) => reason === poor[0].reason);
    for (const {name, state, reason} of isUniform ? [{...poor[0], name: "every source"}] : poor) {
      const key = `${printable(name)}\n${state}${reason ? ": " + printable(reason) : ""}`;
      said.set(key, [...said.get(key) ?? [], side]);
    }
  }
  const items = [...said].map(([key, where]) => {
    const [name, text] = key.split("\n");
    return make("li", {}, make("b", {}, name), where.length < sides.length ? ` (${where.join(", ")}) ` : " ", text);
  });
  return items.length > 0 && [make("h3", {}, "Not fully readable"), make("ul", {class: "poor"}, items)];
}

function sourceSides(info, kind) {
  if (kind === "state")
    return [["", info.sources]];
  if (kind !== "intervals")
    return [["before", info.sourcesBefore], ["after", info.sourcesAfter]];
  return ["a", "b"].flatMap((key) => [[`${key.toUpperCase()} from`, info[key]?.sourcesBefore],
    [`${key.toUpperCase()} to`, info[key]?.sourcesAfter]]);
}
