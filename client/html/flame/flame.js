// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";

/*
 * A wall-clock flame graph: the width of a box is the time of threads, running or waiting, in whose
 * stacks its function is. Stacks are rows of typed arrays. Those that are shown are in an order in
 * which each box is a run of them, so that a graph is laid out from sums up to each row, and nothing
 * is kept for a box that is too small to be seen.
 *
 * Of two recordings the time of a stack is the larger one of both, so that what is gone has a box, too, and colours
 * say what became more or less; the earlier one is scaled to the length of the later.
 */

const ROW_HEIGHT = 19;
const STRIP_HEIGHT = 3;
const LEAST_WIDTH = 0.5;
const LEAST_LABEL_WIDTH = 24;
const MAX_HEIGHT = 16000; // browsers have no larger canvases

const COLOURS = {
  running: "#e4572e", run_queue: "#f2a33a", storage: "#3f6fd1", blocked: "#7a5fd0", lock: "#b0336b", futex: "#d678a8",
  sleep: "#9aa5b1", poll: "#7fb0a4", pipe: "#2fa39b", socket: "#2f9e5f", terminal: "#94ad3c", file: "#5b9bef",
  async_io: "#2f6fa8", child: "#b7a37a", signal: "#c4b23c", file_lock: "#8c2f5a", ipc: "#a0703f", ioctl: "#6b8e9e",
  fault: "#d9822b", stopped: "#808080", idle: "#b9c1c9", other: "#a08fb0",
};

const element = id => document.getElementById(id);

// the data

function readItems() {
  const items = {places: [], names: [], functions: [], stacks: []};
  for (const script of document.querySelectorAll("script.data")) {
    for (const item of JSON.parse(script.textContent)) {
      for (const [kind, value] of Object.entries(item)) {
        if (kind === "stacks") items.stacks.push(value);
        else if (Array.isArray(value)) items[kind].push(...value);
        else items[kind] = value;
      }
    }
    script.remove();
  }
  return items;
}

function readRows(items) {
  const {stacks: n, before, elapsedNs} = items.info, scale = before ? Number(elapsedNs) / Number(before.elapsedNs) : 1;
  const rows = {
    n, process: new Int32Array(n), thread: new Int32Array(n), place: new Int32Array(n), ns: new Float64Array(n),
    was: before ? new Float64Array(n) : null, is: before ? new Float64Array(n) : null,
    samples: new Float64Array(n), error: new Float64Array(n), first: new Int32Array(n), frames: new Int32Array(n),
    ids: new Int32Array(items.info.frames),
  };
  let row = 0, at = 0;
  for (const numbers of items.stacks) {
    for (let i = 0; i < numbers.length; row++) {
      rows.process[row] = numbers[i];
      rows.thread[row] = numbers[i + 1];
      rows.place[row] = numbers[i + 2];
      rows.ns[row] = numbers[i + 3];
      rows.samples[row] = numbers[i + 4];
      rows.error[row] = numbers[i + 5];
      i += 6;
      if (before) {
        rows.was[row] = rows.ns[row] * scale;
        rows.is[row] = numbers[i];
        rows.ns[row] = Math.max(rows.was[row], rows.is[row]);
        rows.samples[row] += numbers[i + 1];
        rows.error[row] = Math.hypot(rows.error[row] * scale, numbers[i + 2]);
        i += 3;
      }
      const shared = numbers[i], more = numbers[i + 1];
      i += 2;
      if (shared > 0) rows.ids.copyWithin(at, rows.first[row - 1], rows.first[row - 1] + shared);
      rows.first[row] = at;
      rows.frames[row] = shared + more;
      for (at += shared; i < numbers.length && at < rows.first[row] + shared + more;) rows.ids[at++] = numbers[i++];
    }
  }
  return rows;
}

// words

function timeText(ns) {
  if (ns < 999.5) return `${ns.toFixed(0)} ns`;
  if (ns < 999.5e3) return `${(ns / 1e3).toPrecision(3)} µs`;
  if (ns < 999.5e6) return `${(ns / 1e6).toPrecision(3)} ms`;
  if (ns < 59.95e9) return `${(ns / 1e9).toPrecision(3)} s`;
  const s = Math.round(ns / 1e9);
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  return `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
}

function shareText(share) {
  const percent = 100 * share;
  return percent > 0 && percent < 0.1 ? "<0.1 %" : `${percent < 10 ? percent.toFixed(1) : percent.toFixed(0)} %`;
}

// Names keep bytes that are no text, or move it, as U+EF00 plus the byte.
const showName = name => name.replace(/[\uef00-\uefff]/g, c => "\\x" + (c.charCodeAt(0) - 0xef00).toString(16).padStart(2, "0"));

// colours

const MORE = [214, 60, 50], LESS = [47, 111, 190], SAME = [150, 156, 162];

const parseColour = text => [1, 3, 5].map(i => parseInt(text.slice(i, i + 2), 16));
const mix = (a, b, share) => a.map((value, i) => Math.round(value * (1 - share) + b[i] * share));
const cssColour = colour => `rgb(${colour.join(",")})`;

function placeColour(name, number) {
  if (Object.hasOwn(COLOURS, name)) return parseColour(COLOURS[name]);
  const angle = number * 2.4;
  return [0, 2.1, 4.2].map(shift => Math.round(140 + 80 * Math.cos(angle + shift)));
}

// Red is more, blue is less: the stronger, the larger a part of the time it is.
const changeColour = (was, is) => mix(SAME, is > was ? MORE : LESS, was + is > 0 ? Math.abs(is - was) / Math.max(was, is) : 0);

// the graph

class Graph {
  constructor(items) {
    this.rows = readRows(items);
    this.places = items.places;
    this.names = items.names.map(showName);
    this.functions = items.functions.map(showName);
    this.colours = items.places.map(placeColour);
    this.inverted = this.byThread = false;
    this.path = []; // of the box that is zoomed to
    this.query = "";
    this.matches = null;
    this.orders = new Map();
    this.boxes = [];
    const placeNs = new Float64Array(this.places.length);
    for (let row = 0; row < this.rows.n; row++) placeNs[this.rows.place[row]] += this.rows.ns[row];
    this.placeNs = placeNs;
    this.totalNs = placeNs.reduce((sum, ns) => sum + ns, 0);
    // Places without work begin switched off.
    const rests = new Set(items.info.rests), isBusy = placeNs.some((ns, place) => !rests.has(place) && ns > 0);
    this.on = this.places.map((name, place) => !isBusy || !rests.has(place));
    this.threadId = this.functions.length + this.names.length;
    this.placeId = this.threadId + this.names.length;
    this.sift();
  }

  // A number for what a row has at a depth; -1 behind its end.
  idAt(row, depth) {
    const {rows, inverted, byThread} = this, n = rows.frames[row], groups = byThread ? 2 : 1;
    if (inverted) {
      if (depth === 0) return this.placeId + rows.place[row];
      if (depth <= n) return rows.ids[rows.first[row] + n - depth];
      if (depth === n + 1) return this.functions.length + rows.process[row];
      return byThread && depth === n + 2 ? this.threadId + rows.thread[row] : -1;
    }
    if (depth === 0) return this.functions.length + rows.process[row];
    if (byThread && depth === 1) return this.threadId + rows.thread[row];
    if (depth < groups + n) return rows.ids[rows.first[row] + depth - groups];
    return depth === groups + n ? this.placeId + rows.place[row] : -1;
  }

  nameOf(id) {
    if (id < this.functions.length) return this.functions[id];
    if (id < this.threadId) return this.names[id - this.functions.length];
    if (id < this.placeId) return "thread " + this.names[id - this.threadId];
    return `[${this.places[id - this.placeId]}]`;
  }

  // All rows, those together that have the same at each depth from the first on. They come by process and its frames.
  order() {
    const key = (this.inverted ? 2 : 0) + (this.byThread ? 1 : 0);
    if (!this.orders.has(key)) {
      const {rows} = this, order = new Int32Array(rows.n);
      for (let i = 0; i < rows.n; i++) order[i] = i;
      if (this.inverted) {
        order.sort((a, b) => {
          if (rows.place[a] !== rows.place[b]) return rows.place[a] - rows.place[b];
          const na = rows.frames[a], nb = rows.frames[b], n = Math.min(na, nb), ids = rows.ids;
          for (let k = 1, x = rows.first[a] + na, y = rows.first[b] + nb; k <= n; k++) {
            if (ids[x - k] !== ids[y - k]) return ids[x - k] - ids[y - k];
          }
          return na - nb || rows.process[a] - rows.process[b] || rows.thread[a] - rows.thread[b] || a - b;
        });
      } else if (this.byThread) {
        const ranks = new Map();
        for (let i = 0; i < rows.n; i++) if (!ranks.has(rows.process[i])) ranks.set(rows.process[i], ranks.size);
        const rank = Int32Array.from(rows.process, process => ranks.get(process));
        order.sort((a, b) => rank[a] - rank[b] || rows.thread[a] - rows.thread[b] || a - b);
      }
      this.orders.set(key, order);
    }
    return this.orders.get(key);
  }

  // Takes the rows of the places that are on, and sums their times up to each, of all and of every place.
  sift() {
    const {rows} = this, shown = this.order().filter(row => this.on[rows.place[row]]), n = shown.length;
    this.shown = shown;
    this.sums = new Float64Array(n + 1);
    this.sides = rows.was && [rows.was, rows.is].map(ns => {
      const sums = new Float64Array(n + 1);
      for (let i = 0; i < n; i++) sums[i + 1] = sums[i] + ns[shown[i]];
      return sums;
    });
    this.placeSums = this.places.map((_, place) => this.on[place] && this.placeNs[place] > 0 ? new Float64Array(n + 1) : null);
    for (let i = 0; i < n; i++) this.sums[i + 1] = this.sums[i] + rows.ns[shown[i]];
    this.placeSums.forEach((sums, place) => {
      if (!sums) return;
      for (let i = 0; i < n; i++) sums[i + 1] = sums[i] + (rows.place[shown[i]] === place ? rows.ns[shown[i]] : 0);
    });
    this.locate();
    this.count();
  }

  // The end of the run that begins at a row and has one id at a depth.
  runEnd(begin, end, depth) {
    const id = this.idAt(this.shown[begin], depth);
    let step = 1, last = begin;
    while (last + step < end && this.idAt(this.shown[last + step], depth) === id) {
      last += step;
      step *= 2;
    }
    while (step > 1) {
      step /= 2;
      if (last + step < end && this.idAt(this.shown[last + step], depth) === id) last += step;
    }
    return last + 1;
  }

  // Finds the rows of the box that is zoomed to; what is not there any more is left.
  locate() {
    let begin = 0, end = this.shown.length;
    for (let depth = 0; depth < this.path.length; depth++) {
      let at = begin, found = false;
      while (at < end && !found) {
        const next = this.runEnd(at, end, depth);
        if (this.idAt(this.shown[at], depth) === this.path[depth]) {
          [begin, end, found] = [at, next, true];
        } else {
          at = next;
        }
      }
      if (!found) this.path.length = depth;
    }
    this.begin = begin;
    this.end = end;
  }

  // How much of what is shown has a match in its stack.
  count() {
    this.matches = null;
    this.foundNs = 0;
    if (!this.query) return;
    const {rows} = this, query = this.query.toLowerCase(), n = this.placeId + this.places.length;
    const matches = new Uint8Array(n);
    for (let id = 0; id < n; id++) matches[id] = this.nameOf(id).toLowerCase().includes(query) ? 1 : 0;
    this.matches = matches;
    for (const row of this.shown) {
      let found = matches[this.functions.length + rows.process[row]] || matches[this.placeId + rows.place[row]] ||
                  this.byThread && matches[this.threadId + rows.thread[row]];
      for (let k = rows.first[row], end = k + rows.frames[row]; !found && k < end; k++) found = matches[rows.ids[k]];
      if (found) this.foundNs += rows.ns[row];
    }
  }

  // The boxes that can be seen at a width: {id, depth, x, width, begin, end}.
  layOut(width) {
    const boxes = [], {sums} = this, span = sums[this.end] - sums[this.begin];
    this.path.forEach((id, depth) => boxes.push({id, depth, x: 0, width, begin: this.begin, end: this.end, outer: true}));
    if (this.path.length > 0) boxes[boxes.length - 1].outer = false;
    if (!(span > 0)) return this.path.length > 0 ? boxes : [];
    const scale = width / span, origin = sums[this.begin], work = [[this.begin, this.end, this.path.length]];
    while (work.length > 0) {
      const [begin, end, depth] = work.pop();
      for (let at = begin; at < end;) {
        const id = this.idAt(this.shown[at], depth), next = this.runEnd(at, end, depth);
        const boxWidth = (sums[next] - sums[at]) * scale;
        if (id >= 0 && boxWidth >= LEAST_WIDTH) {
          boxes.push({id, depth, x: (sums[at] - origin) * scale, width: boxWidth, begin: at, end: next, outer: false});
          work.push([at, next, depth + 1]);
        }
        at = next;
      }
    }
    return boxes;
  }

  // [[place, ns]...] of the rows of a box, the most first.
  mixOf(box) {
    const parts = [];
    this.placeSums.forEach((sums, place) => {
      const ns = sums ? sums[box.end] - sums[box.begin] : 0;
      if (ns > 0) parts.push([place, ns]);
    });
    return parts.sort((a, b) => b[1] - a[1]);
  }

  // [before, after] of a box.
  sidesOf(box) {
    return this.sides.map(sums => sums[box.end] - sums[box.begin]);
  }

  draw() {
    const canvas = element("graph"), width = Math.max(element("stage").clientWidth, 100);
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    const paper = isDark ? [20, 23, 26] : [255, 255, 255], ink = isDark ? "#fff" : "#111";
    this.boxes = this.layOut(width).filter(box => (box.depth + 1) * ROW_HEIGHT <= MAX_HEIGHT);
    const depth = this.boxes.reduce((most, box) => Math.max(most, box.depth + 1), 0), height = depth * ROW_HEIGHT;
    const ratio = Math.min(devicePixelRatio || 1, height > 0 ? MAX_HEIGHT / height : 1);
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.max(Math.round(height * ratio), 1);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.font = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
    context.textBaseline = "middle";
    for (const box of this.boxes) {
      const parts = this.mixOf(box), y = box.depth * ROW_HEIGHT, all = parts.reduce((sum, part) => sum + part[1], 0);
      const gap = box.width > 3 ? 1 : 0, boxWidth = box.width - gap;
      const colour = this.sides ? changeColour(...this.sidesOf(box)) : parts.length > 0 ? this.colours[parts[0][0]] : [128, 128, 128];
      const isFaint = box.outer || this.matches && !this.matches[box.id];
      context.fillStyle = cssColour(mix(colour, paper, isFaint ? 0.85 : isDark ? 0.45 : 0.4));
      context.fillRect(box.x, y, boxWidth, ROW_HEIGHT - 1);
      let x = box.x;
      for (const [place, ns] of parts) {
        const part = boxWidth * ns / all;
        context.fillStyle = cssColour(isFaint ? mix(this.colours[place], paper, 0.6) : this.colours[place]);
        context.fillRect(x, y + ROW_HEIGHT - 1 - STRIP_HEIGHT, part, STRIP_HEIGHT);
        x += part;
      }
      if (this.matches && this.matches[box.id] && box.width > 2) {
        context.strokeStyle = isDark ? "#fff" : "#000";
        context.strokeRect(box.x + 0.5, y + 0.5, Math.max(boxWidth - 1, 1), ROW_HEIGHT - 2);
      }
      if (boxWidth >= LEAST_LABEL_WIDTH) {
        context.save();
        context.beginPath();
        context.rect(box.x, y, boxWidth - 2, ROW_HEIGHT);
        context.clip();
        context.fillStyle = ink;
        context.fillText(this.nameOf(box.id), box.x + 3, y + (ROW_HEIGHT - STRIP_HEIGHT) / 2);
        context.restore();
      }
    }
    element("none").hidden = this.boxes.length > 0;
    element("reset").disabled = this.path.length === 0;
    element("found").textContent = this.query
      ? `${timeText(this.foundNs)} found, ${shareText(this.foundNs / (this.sums[this.sums.length - 1] || 1))} of what is shown` : "";
  }

  boxAt(x, y) {
    const depth = Math.floor(y / ROW_HEIGHT);
    return this.boxes.find(box => box.depth === depth && x >= box.x && x < box.x + box.width);
  }

  zoom(box) {
    const path = [];
    for (let depth = 0; depth <= box.depth; depth++) path.push(box.depth < this.path.length ? this.path[depth] : this.idAt(this.shown[box.begin], depth));
    // The box that is zoomed to leads back to the one around it.
    this.path = path.length === this.path.length ? path.slice(0, -1) : path;
    this.locate();
    this.draw();
  }

  reset() {
    this.path = [];
    this.locate();
    this.draw();
  }

  tell(box) {
    const detail = element("detail");
    if (!box) return;
    detail.replaceChildren();
    const {rows} = this, ns = this.sums[box.end] - this.sums[box.begin];
    let samples = 0, variance = 0;
    for (let i = box.begin; i < box.end; i++) {
      samples += rows.samples[this.shown[i]];
      variance += rows.error[this.shown[i]] ** 2;
    }
    const name = document.createElement("b"), facts = document.createElement("div"), mixture = document.createElement("span");
    name.textContent = this.nameOf(box.id);
    const [was, is] = this.sides ? this.sidesOf(box) : [0, 0];
    facts.textContent = this.sides ? [
      `${timeText(was)} → ${timeText(is)}`,
      `${is < was ? "−" : "+"}${timeText(Math.abs(is - was))}` + (variance > 0 ? ` ± ${timeText(Math.sqrt(variance))}` : ""),
      `${samples} samples`].join(", ") : [
      timeText(ns) + (variance > 0 ? ` ± ${timeText(Math.sqrt(variance))}` : ""),
      `${shareText(ns / (this.sums[this.sums.length - 1] || 1))} of what is shown`, `${shareText(ns / (this.totalNs || 1))} of all`,
      `${samples} samples`].join(", ");
    mixture.textContent = this.mixOf(box).slice(0, 6).map(([place, part]) => `${this.places[place]} ${timeText(part)}`).join(", ");
    detail.append(name, facts, mixture);
  }
}

// the course

const COURSE_HEIGHT = 84;
const COURSE_ROWS = 12; // of a span that are told

// Steps side by side, as wide as they are long: how many threads were in each place on average, above each other.
class Strip {
  constructor(course, graph) {
    this.graph = graph;
    this.rows = course.rows.map(([group, place]) => ({group: showName(group), place}));
    this.steps = course.steps.map(([begin, end, ...ns]) => ({begin: Number(begin), end: Number(end), ns: ns.map(Number)}));
    this.endNs = this.steps[this.steps.length - 1].end;
    const known = Object.keys(COLOURS), rank = name => known.includes(name) ? known.indexOf(name) : known.length;
    this.places = [...new Set(this.rows.map(row => row.place))].sort((a, b) => rank(a) - rank(b));
    this.first = this.last = -1; // of the steps that are selected
  }

  // Places that the legend has switched off are not drawn; those without a stack it has not.
  isOn(place) {
    const number = this.graph.places.indexOf(place);
    return number < 0 || this.graph.on[number];
  }

  // [[place, threads on average]...] of a run of steps, and the same of its rows, the most first.
  figures(first, last) {
    const steps = this.steps.slice(first, last + 1), length = steps[steps.length - 1].end - steps[0].begin;
    const rows = this.rows.map((row, i) => ({...row, n: steps.reduce((sum, step) => sum + step.ns[i], 0) / (length || 1)}));
    const places = this.places.map(place => [place, rows.reduce((sum, row) => sum + (row.place === place ? row.n : 0), 0)]);
    return {places, rows: rows.filter(row => row.n > 0 && this.isOn(row.place)).sort((a, b) => b.n - a.n), length};
  }

  draw() {
    const canvas = element("strip"), width = Math.max(element("course").clientWidth, 100), ratio = Math.min(devicePixelRatio || 1, 4);
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches, paper = isDark ? [20, 23, 26] : [255, 255, 255];
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(COURSE_HEIGHT * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${COURSE_HEIGHT}px`;
    const context = canvas.getContext("2d"), scale = width / (this.endNs || 1);
    const bars = this.steps.map((step, i) => this.figures(i, i).places.filter(([place]) => this.isOn(place)));
    this.most = Math.max(...bars.map(bar => bar.reduce((sum, [, n]) => sum + n, 0)));
    context.scale(ratio, ratio);
    bars.forEach((bar, i) => {
      const step = this.steps[i], x = step.begin * scale, barWidth = Math.max((step.end - step.begin) * scale, 0.5);
      const isFaint = this.first >= 0 && (i < this.first || i > this.last);
      let y = COURSE_HEIGHT;
      for (const [place, n] of bar) {
        const height = this.most > 0 ? n / this.most * (COURSE_HEIGHT - 1) : 0, colour = placeColour(place, this.places.indexOf(place));
        context.fillStyle = cssColour(isFaint ? mix(colour, paper, 0.7) : colour);
        context.fillRect(x, y - height, barWidth - (barWidth > 4 ? 0.5 : 0), height);
        y -= height;
      }
    });
    context.fillStyle = isDark ? "#888" : "#666";
    context.fillRect(0, COURSE_HEIGHT - 1, width, 1);
    this.tell();
  }

  tell() {
    const isChosen = this.first >= 0, first = isChosen ? this.first : 0, last = isChosen ? this.last : this.steps.length - 1;
    const {places, rows, length} = this.figures(first, last), begin = this.steps[first].begin;
    const told = places.filter(([place, n]) => n > 0 && this.isOn(place)).map(([place, n]) => `${place} ${n.toPrecision(3)}`).join(", ");
    element("span").textContent = `${isChosen ? `${timeText(begin)} to ${timeText(begin + length)}` : "all steps"}: ${told || "nothing"}` +
      ` threads on average, as counted of all groups; the strip is ${this.most.toPrecision(3)} high. ` +
      (isChosen ? "" : "Select a span of time in the strip to see that of it. ") +
      "Samples have no time: the stacks below are those of the whole recording.";
    element("span-rows").replaceChildren(...(isChosen ? rows.slice(0, COURSE_ROWS) : []).map(row => {
      const item = document.createElement("li"), swatch = document.createElement("span");
      swatch.className = "swatch";
      swatch.style.background = cssColour(placeColour(row.place, this.places.indexOf(row.place)));
      item.append(swatch, `${row.group} ${row.place} ${row.n.toPrecision(3)} (${timeText(row.n * length)})`);
      return item;
    }));
  }

  select(a, b) {
    [this.first, this.last] = [Math.min(a, b), Math.max(a, b)];
    this.draw();
  }

  stepAt(x) {
    const ns = x / (element("course").clientWidth || 1) * this.endNs, found = this.steps.findIndex(step => ns < step.end);
    return found < 0 ? this.steps.length - 1 : found;
  }

  listen() {
    const canvas = element("strip"), move = (key, isMore) => {
      const by = key === "ArrowLeft" ? -1 : 1, edge = by < 0 ? this.first : this.last, last = this.steps.length - 1;
      const to = this.first < 0 ? (by < 0 ? last : 0) : Math.min(Math.max(edge + by, 0), last);
      this.select(isMore && this.first >= 0 ? (by < 0 ? this.last : this.first) : to, to);
    };
    let from = -1;
    canvas.addEventListener("pointerdown", event => {
      from = this.stepAt(event.offsetX);
      canvas.setPointerCapture(event.pointerId);
      this.select(from, from);
    });
    canvas.addEventListener("pointermove", event => {
      if (from >= 0) this.select(from, this.stepAt(event.offsetX));
    });
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, () => { from = -1; });
    canvas.addEventListener("keydown", event => {
      if (event.key === "Escape") this.select(-1, -1);
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      event.preventDefault();
      move(event.key, event.shiftKey);
    });
    addEventListener("resize", () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }
}

// Nothing where the recording has no steps.
function showCourse(items, graph) {
  if (!items.course || items.course.steps.length === 0) return null;
  const strip = new Strip(items.course, graph);
  element("course").hidden = false;
  strip.listen();
  strip.draw();
  return strip;
}

// the page

function showHead(items, graph) {
  const {info} = items, head = info.snapshot || {}, {before} = info;
  let name = showName(String(head.name ?? "recording"));
  if (before) name = `${showName(String((before.snapshot || {}).name ?? "recording"))} → ${name}`;
  element("title").textContent = name;
  document.title = `${name} – ctprof`;
  const parts = [];
  if (head.hostName) parts.push(showName(String(head.hostName)));
  if (head.kernelRelease) parts.push(showName(String(head.kernelRelease)));
  if (head.startRealtimeNs) parts.push(new Date(Number(head.startRealtimeNs) / 1e6).toLocaleString());
  if (info.elapsedNs) parts.push(`recorded for ${timeText(Number(info.elapsedNs))}`);
  if (before) {
    parts.push(`and ${timeText(Number(before.elapsedNs))} before, whose times are scaled to that`);
    parts.push("red became more and blue less, and a box is as wide as the larger time of its stacks");
  } else {
    parts.push(`${timeText(graph.totalNs)} of threads in ${graph.rows.n} stacks`);
  }
  if (info.scope) parts.push(`only${info.scope}`);
  const facts = info.recording || {};
  const lost = ["lostRing", "lostPending", "lostStorage", "lostBusy", "overflowStacks"].reduce((sum, key) => sum + Number(facts[key] || 0), 0);
  if (lost > 0) parts.push(`${lost} samples were lost, and ${facts.samples} were taken`);
  const ends = {
    bytes: "it ended early, as RecordingBytes= of ctprofd.conf(5) has no room for more",
    memory: "it ended early, as the job that adds samples up may have no more memory",
  };
  if (Object.hasOwn(ends, facts.endedBy)) parts.push(ends[facts.endedBy]);
  if (facts.cpusWithoutClock) {
    parts.push(`${timeText(Number(facts.withoutClockNs || 0))} on CPU ${showName(String(facts.cpusWithoutClock))} have no samples, as it was switched on after ctprofd began`);
  }
  element("about").textContent = parts.join(", ") + `. ctprofctl ${info.version}`;
}

function showLegend(graph, redraw) {
  const legend = element("legend");
  const known = Object.keys(COLOURS), rank = name => known.includes(name) ? known.indexOf(name) : known.length;
  const numbers = graph.places.map((_, place) => place).filter(place => graph.placeNs[place] > 0);
  numbers.sort((a, b) => rank(graph.places[a]) - rank(graph.places[b]) || a - b);
  for (const place of numbers) {
    const button = document.createElement("button"), swatch = document.createElement("span");
    button.type = "button";
    swatch.className = "swatch";
    swatch.style.background = cssColour(graph.colours[place]);
    button.append(swatch, `${graph.places[place]} ${timeText(graph.placeNs[place])}`);
    button.setAttribute("aria-pressed", graph.on[place]);
    button.addEventListener("click", () => {
      graph.on[place] = !graph.on[place];
      button.setAttribute("aria-pressed", graph.on[place]);
      graph.sift();
      redraw();
    });
    legend.append(button);
  }
}

function listen(graph) {
  const canvas = element("graph"), boxOf = event => graph.boxAt(event.offsetX, event.offsetY);
  canvas.addEventListener("mousemove", event => graph.tell(boxOf(event)));
  canvas.addEventListener("click", event => {
    const box = boxOf(event);
    if (!box) return;
    graph.tell(box);
    graph.zoom(box);
  });
  canvas.addEventListener("keydown", event => {
    if (event.key === "Escape") graph.reset();
  });
  element("reset").addEventListener("click", () => graph.reset());
  let timer = 0;
  element("search").addEventListener("input", event => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      graph.query = event.target.value.trim();
      graph.count();
      graph.draw();
    }, 120);
  });
  for (const [id, member] of [["inverted", "inverted"], ["threads", "byThread"]]) {
    element(id).addEventListener("change", event => {
      graph[member] = event.target.checked;
      graph.path = [];
      graph.sift();
      graph.draw();
    });
  }
  addEventListener("resize", () => graph.draw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => graph.draw());
}

function start() {
  const items = readItems();
  if (!items.end) return null;
  const graph = new Graph(items);
  element("incomplete").remove();
  element("page").hidden = false;
  showHead(items, graph);
  const strip = showCourse(items, graph);
  showLegend(graph, () => {
    graph.draw();
    if (strip) strip.draw();
  });
  // Threads of two recordings are told by their processes.
  element("threads").parentElement.hidden = Boolean(items.info.before);
  listen(graph);
  graph.draw();
  element("detail").textContent = "Point at a function to see its time; click it to zoom in, and again to zoom out.";
  return graph;
}

const shownGraph = start();
