// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";

// What the host did in an interval, or in two: how busy it was, how much of that the groups account for,
// and what a limit held back. Each figure only where it was measured.

const DISKS_SHOWN = 8;
const CPUS_SHOWN = 256;
const LIMITS_SHOWN = 12;
const LEAST_OWN = 0.005;
const COVERED = [
  ["survivedNs", "threads that lived on"],
  ["bornNs", "threads born in it"],
  ["endedNs", "threads that ended"],
  ["bornAndEndedNs", "threads born and ended in it"],
  ["kernelThreadsNs", "kernel threads"],
  ["notAttributedNs", "not attributed"],
];

// A member of both intervals, or of the only one: [{name, value, elapsedNs}...]
function sidesOfInterval({info, kind, sides, spans}, member) {
  const value = info[member];
  if (!value)
    return [];
  if (kind !== "intervals")
    return [{name: "", value, elapsedNs: spans[0]}];
  return [["a", 0], ["b", 1]].filter(([key]) => value[key])
    .map(([key, i]) => ({name: sides.names[i], value: value[key], elapsedNs: spans[i]}));
}

// The share of the CPU time used that the groups account for. The host counts in ticks, which miss work: more
// than all is all.
function coveredShare({cpuUsedNs, attributedNs}) {
  const used = Number(cpuUsedNs), attributed = Number(attributedNs);
  return attributed > used ? 1 : used > 0 ? attributed / used : null;
}

// What ticks missed and threads did is believed.
function usedCpus({cpuUsedNs, cpuBelievedNs}, elapsedNs) {
  return isNumber(cpuBelievedNs) ? "~" + formatCpus(cpuBelievedNs, elapsedNs) : formatCpus(cpuUsedNs, elapsedNs);
}

function coverageText(value, elapsedNs) {
  const isUsedKnown = isNumber(value.cpuUsedNs), share = isUsedKnown ? coveredShare(value) : null;
  if (!isNumber(value.attributedNs))
    return (isUsedKnown ? `The host used ${usedCpus(value, elapsedNs)} CPUs; whose` : "Whose") +
      " work it was is not known: no thread has a run time.";
  if (share === null)
    return `Threads ran on ${formatCpus(value.attributedNs, elapsedNs)} CPUs; how much the host used was not read.`;
  return `Threads of the snapshots account for ${formatShare(share)} of the ${usedCpus(value, elapsedNs)} CPUs that the host used.`;
}

function coverageNodes({name, value, elapsedNs}) {
  const known = COVERED.filter(([key]) => isNumber(value[key]));
  const sum = known.reduce((all, [key]) => all + Number(value[key]), 0);
  const element = make("span", {class: "bar coverage", role: "img"});
  const said = known.filter(([key]) => Number(value[key]) > 0)
    .map(([key, text]) => [key, `${text} ${formatCpus(value[key], elapsedNs)} (${formatPart(value[key], sum)})`]);
  for (const [key] of said) {
    const fill = make("i", {class: "fill cover" + COVERED.findIndex(([other]) => other === key)});
    fill.style.width = Number(value[key]) / sum * 100 + "%";
    element.append(fill);
  }
  element.setAttribute("aria-label", said.map(([, text]) => text).join(", "));
  const own = isNumber(value.ownNs) && Number(value.ownNs) / elapsedNs >= LEAST_OWN &&
    `${formatCpus(value.ownNs, elapsedNs)} of that was ctprof itself, with its callers, which groups leave out.`;
  const unseen = COVERED.filter(([key]) => !isNumber(value[key]) && key !== "notAttributedNs").map(([, text]) => text);
  const storage = isNumber(value.storageUsedBytes) && isNumber(value.storageAttributedBytes) &&
    `Of ${formatQuantity(value.storageUsedBytes, "bytes")} that disks moved, threads claim ` +
    `${formatQuantity(value.storageAttributedBytes, "bytes")}.`;
  return [
    make("p", {}, name && make("b", {}, name, ": "), coverageText(value, elapsedNs)),
    sum > 0 && element,
    make("p", {class: "legend"}, said.map(([key, text]) =>
      make("span", {}, make("i", {class: "swatch cover" + COVERED.findIndex(([other]) => other === key)}), text))),
    isNumber(value.attributedNs) && unseen.length > 0 && note(`Not observed, and so not attributed: ${unseen.join(", ")}.`),
    own && make("p", {}, own),
    storage && make("p", {}, storage),
  ];
}

// A line of the host: [what, text(host, elapsedNs) -> text or null]
const per = (key, unit) => (host, span) => isNumber(host[key]) ? formatPerSecond(host[key], span, unit) : null;
const cpus = (key) => (host, span) => isNumber(host[key]) ? formatCpus(host[key], span) : null;
const plain = (key) => (host) => isNumber(host[key]) ? String(host[key]) : null;
const stalled = (resource) => ({pressure}, span) => {
  const {someNs, fullNs} = pressure?.[resource] ?? {};
  if (!isNumber(someNs))
    return null;
  return formatPart(someNs, span) + (isNumber(fullNs) ? ` some, ${formatPart(fullNs, span)} all` : " some");
};
const ofTotal = (used, total) => ({memory}) => isNumber(memory?.[used]) && Number(memory[total] ?? 1) > 0
  ? formatQuantity(memory[used], "bytes") + (isNumber(memory[total]) ? ` of ${formatQuantity(memory[total], "bytes")}` : "") : null;
const inside = (object, key, unit) => (host, span) => isNumber(host[object]?.[key])
  ? formatPerSecond(host[object][key], span, unit) : null;

const HOST_LINES = [
  ["CPUs used", (host, span) => isNumber(host.cpuUsedNs)
    ? usedCpus(host, span) + (isNumber(host.cpus) ? ` of ${host.cpus}` : "") : null],
  ["user", cpus("userNs")], ["nice", cpus("niceNs")], ["system", cpus("systemNs")],
  ["interrupts", (host, span) => isNumber(host.irqNs) && isNumber(host.softirqNs)
    ? formatCpus(BigInt(host.irqNs) + BigInt(host.softirqNs), span) : null],
  ["stolen", cpus("stealNs")], ["idle", cpus("idleNs")], ["idle for I/O", cpus("iowaitNs")],
  ["threads waiting for a CPU", cpus("waitingNs")],
  ["stalled for a CPU", stalled("cpu")], ["stalled for memory", stalled("memory")], ["stalled for I/O", stalled("io")],
  ["new threads", per("processesCreated", "count")], ["context switches", per("contextSwitches", "count")],
  ["interrupts counted", per("interrupts", "count")],
  ["running at the end", plain("running")], ["blocked at the end", plain("blocked")], ["load at the end", plain("load1")],
  ["memory used", ofTotal("usedBytes", "totalBytes")], ["swap used", ofTotal("swapUsedBytes", "swapTotalBytes")],
  ["swapped in", inside("memory", "swapInBytes", "bytes")], ["swapped out", inside("memory", "swapOutBytes", "bytes")],
  ["dirty memory", ({memory}) => isNumber(memory?.dirtyBytes) ? formatQuantity(memory.dirtyBytes, "bytes") : null],
  ["received", inside("network", "receivedBytes", "bytes")], ["sent", inside("network", "sentBytes", "bytes")],
  ["TCP retransmits", inside("network", "tcpRetransmits", "count")],
  ["listen drops", inside("network", "listenDrops", "count")],
  ["killed for want of memory", plain("oomKills")],
];

// A row that is 0 on every side says nothing.
function hostTable(sides) {
  const rows = HOST_LINES.map(([name, text]) => [name, sides.map(({value, elapsedNs}) => text(value, elapsedNs))])
    .filter(([, texts]) => texts.some((text) => text !== null && /[1-9]/.test(text)));
  return smallTable("The host", [
    ["", "", ([name]) => name],
    ...sides.map(({name}, i) => [name, "number", ([, texts]) => cellOf(texts[i], "not readable")]),
  ], rows);
}

// Each CPU a bar, so that one that is busy among idle ones is seen.
function cpuNodes({name, value: {perCpu}, elapsedNs}) {
  const known = (perCpu ?? []).filter(({usedNs}) => isNumber(usedNs));
  if (known.length < 2)
    return null;
  const bars = known.slice(0, CPUS_SHOWN).map(({cpu, usedNs, irqNs, softirqNs, stealNs}) => {
    const share = Number(usedNs) / Number(elapsedNs);
    const interrupts = formatPart(Number(irqNs ?? 0) + Number(softirqNs ?? 0), elapsedNs);
    const title = `CPU ${cpu}: ${formatShare(share)} used, ${interrupts} interrupts, ${formatPart(stealNs ?? 0, elapsedNs)} stolen`;
    const fill = make("i", {class: "fill"});
    fill.style.height = `${Math.min(share, 1) * 100}%`;
    return make("span", {class: "upright", title, role: "img", "aria-label": title}, fill);
  });
  const shares = known.map(({cpu, usedNs}) => ({cpu, share: Number(usedNs) / Number(elapsedNs)}));
  const [idlest, busiest] = [-1, 1].map((sign) => shares.reduce((a, b) => sign * (b.share - a.share) > 0 ? b : a));
  return [make("h3", {}, "CPUs", name && ` of ${name}`), make("div", {class: "cpus"}, bars),
    note(`Busiest: CPU ${busiest.cpu}, ${formatShare(busiest.share)}; idlest: CPU ${idlest.cpu}, ${formatShare(idlest.share)}.`)];
}

function diskNodes({name, value: {disks}, elapsedNs}) {
  const busy = (disks ?? []).filter(({requests}) => Number(requests) > 0).sort((a, b) => Number(b.busyNs) - Number(a.busyNs));
  if (busy.length === 0)
    return null;
  const rate = (key, unit) => (disk) => cellOf(isNumber(disk[key]) ? formatPerSecond(disk[key], elapsedNs, unit) : null);
  return [make("h3", {}, "Disks", name && ` of ${name}`), smallTable("Disks", [
    ["disk", "", (disk) => printable(disk.name)],
    ["busy", "number", ({busyNs}) => cellOf(isNumber(busyNs) ? formatPart(busyNs, elapsedNs) : null)],
    ["", "graph", ({busyNs}) => bar(Number(busyNs ?? 0) / Number(elapsedNs))],
    ["read", "number", rate("readBytes", "bytes")],
    ["written", "number", rate("writeBytes", "bytes")],
    ["requests", "number", rate("requests", "count")],
    ["time a request", "number", ({requests, requestNs}) =>
      cellOf(isNumber(requestNs) ? formatQuantity([requestNs, requests], "ns", {derived: true}) : null)],
  ], busy.slice(0, DISKS_SHOWN))];
}

function limitText({cgroup, what, count, ns}) {
  const n = Number(count ?? 0), times = `${n.toLocaleString("en")} time${n === 1 ? "" : "s"}`;
  const said = {
    "cpu.max": `CPU throttled ${isNumber(ns) ? formatQuantity(ns, "ns") + " " : ""}in ${plural(n, "period")}`,
    "memory.max": `memory.max reached ${times}`,
    "memory.high": `memory.high reached ${times}`,
    "oom_kill": `${n === 1 ? "1 process" : n.toLocaleString("en") + " processes"} killed for want of memory`,
    "pids.max": `pids.max reached ${times}`,
  }[what] ?? `${printable(what)}: ${times}`;
  return [make("b", {}, cgroup === "" ? "the host" : printable(cgroup)), ": ", said];
}

function limitNodes({info, kind, sides}) {
  const {limited} = info;
  const lists = !limited ? [] : kind === "intervals" ? [["a", sides.names[0]], ["b", sides.names[1]]].map(([key, name]) =>
    [name, limited[key] ?? []]) : [["", limited]];
  return lists.filter(([, list]) => list.length > 0).map(([name, list]) => [
    make("h3", {}, "Held back by a limit", name && ` in ${name}`),
    make("ul", {class: "plain"}, list.slice(0, LIMITS_SHOWN).map((line) => make("li", {}, limitText(line)))),
    list.length > LIMITS_SHOWN && note(`${plural(list.length - LIMITS_SHOWN, "more line")}.`)]);
}

function hostPart({data}) {
  const coverages = sidesOfInterval(data, "coverage");
  const hosts = sidesOfInterval(data, "host").map((side) =>
    ({...side, value: {...side.value, cpuBelievedNs: coverages.find(({name}) => name === side.name)?.value.cpuBelievedNs}}));
  const limits = limitNodes(data);
  if (hosts.length + coverages.length + limits.length === 0)
    return;
  part("host", "Host", "The host", coverages.map(coverageNodes), limits,
    hosts.length > 0 && make("details", {}, make("summary", {}, "All figures of the host that are not 0"), hostTable(hosts)),
    hosts.map(cpuNodes), hosts.map(diskNodes));
}
