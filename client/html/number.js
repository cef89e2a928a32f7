// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";

// Numbers as the tables of ctprofctl show them: on a ladder of units, rounded once, exactly, ties to
// even. Doubles cannot do that above 2^53, so all of it is done in integers of any size.

const LADDERS = {
  none: [[1n, ""]],
  ratio: [[1n, ""]],
  count: [[1n, ""], [1000n, "K"], [1000000n, "M"], [1000000000n, "G"]],
  ns: [[1n, "ns"], [1000n, "µs"], [1000000n, "ms"], [1000000000n, "s"]],
  us: [[1n, "µs"], [1000n, "ms"], [1000000n, "s"]],
  bytes: [[1n, "B"], [1n << 10n, "KiB"], [1n << 20n, "MiB"], [1n << 30n, "GiB"], [1n << 40n, "TiB"]],
  ticks: [[1n, "ticks"], [1000n, "Kticks"], [1000000n, "Mticks"]],
};

// A number of the data: a double, or the digits of an integer that no double holds.
function isNumber(value) {
  return typeof value === "number" || typeof value === "string" || typeof value === "bigint";
}

// [numerator, denominator], without any rounding: a double is an integer over a power of two. Such a
// pair is a number, too.
function exactly(value) {
  let denominator = 1n;
  if (Array.isArray(value))
    return value.map(BigInt);
  if (typeof value !== "number")
    return [BigInt(value), denominator];
  // What is beyond all doubles, as 1e999 in the data is, becomes no integer however often it doubles.
  value = Math.max(-Number.MAX_VALUE, Math.min(value, Number.MAX_VALUE));
  while (!Number.isInteger(value)) {
    value *= 2;
    denominator *= 2n;
  }
  return [BigInt(value), denominator];
}

// |numerator| / denominator as an integer number of 10^-decimals.
function roundTo(numerator, denominator, decimals) {
  const scaled = (numerator < 0n ? -numerator : numerator) * 10n ** BigInt(decimals);
  const whole = scaled / denominator, rest = 2n * (scaled % denominator);
  const up = rest > denominator || (rest === denominator && whole % 2n === 1n);
  return up ? whole + 1n : whole;
}

// A negative that rounds to zero is a plain zero.
function withPoint(rounded, decimals, negative, plus) {
  const digits = rounded.toString().padStart(decimals + 1, "0");
  const sign = negative && rounded > 0n ? "-" : plus ? "+" : "";
  return sign + (decimals > 0 ? digits.slice(0, -decimals) + "." + digits.slice(-decimals) : digits);
}

// form: {signed: a delta, derived: two decimals at the base unit}
function formatQuantity(value, unit, form = {}) {
  const rungs = LADDERS[unit] ?? LADDERS.none;
  const [numerator, denominator] = exactly(value);
  const magnitude = numerator < 0n ? -numerator : numerator;
  let rung = 0;
  while (rung + 1 < rungs.length && magnitude >= rungs[rung + 1][0] * denominator)
    rung++;
  for (;; rung++) {
    const base = unit === "ratio" ? 3 : form.derived ? 2 : denominator > 1n ? 3 : 0;
    const decimals = rung > 0 ? 3 : base;
    const rounded = roundTo(numerator, denominator * rungs[rung][0], decimals);
    // What rounds up to the next unit is shown in it.
    if (rung + 1 < rungs.length &&
        rounded / 10n ** BigInt(decimals) >= rungs[rung + 1][0] / rungs[rung][0])
      continue;
    return withPoint(rounded, decimals, numerator < 0n, form.signed) + rungs[rung][1];
  }
}

// From the integers where both are: percent was rounded once already.
function formatPercent(percent, delta, before) {
  let [numerator, denominator] = exactly(percent);
  if (isNumber(delta) && isNumber(before)) {
    const [d, one] = exactly(delta), [b, another] = exactly(before);
    if (one === 1n && another === 1n && b > 0n)
      [numerator, denominator] = [100n * d, b];
  }
  return withPoint(roundTo(numerator, denominator, 1), 1, numerator < 0n, true) + "%";
}

// A number of hundredths, as load averages are.
function formatHundredths(value, signed) {
  return withPoint(roundTo(...exactly(value), 0), 2, Number(value) < 0, signed);
}

// Hundredths of a percent, as pressure has them.
function formatPressure(value, signed) {
  return formatHundredths(value, signed) + "%";
}

function plainNumber(value, signed) {
  const text = String(value);
  return signed && !text.startsWith("-") ? "+" + text : text;
}

// Doubles decide most comparisons; integers that no double tells apart decide themselves.
function compareNumbers(a, b) {
  if (a === b)
    return 0;
  const difference = Number(a) - Number(b);
  if (difference !== 0 || (typeof a === "number" && typeof b === "number"))
    return difference;
  const [an, ad] = exactly(a), [bn, bd] = exactly(b);
  return Number(an * bd - bn * ad);
}

// A VALUE as the tables show it; null where there is none.
function formatValue(value, metric, raw) {
  const quantity = (number) => raw ? plainNumber(number)
    : formatQuantity(number, metric.unit, {derived: metric.derived});
  if (value === null || value === undefined)
    return null;
  if (typeof value !== "object")
    return quantity(value);
  if ("mode" in value)
    return printable(value.mode) + (value.count === value.total ? "" : ` (${value.count}/${value.total})`);
  if ("minCpus" in value) {
    const cpus = value.minCpus === value.maxCpus ? value.minCpus : `${value.minCpus}-${value.maxCpus}`;
    return `${cpus} ${value.maxCpus === 1 ? "cpu" : "cpus"} (${value.uniform ? value.cpus : "mixed"})`;
  }
  return value.min === value.max ? quantity(value.min) : `[${quantity(value.min)}, ${quantity(value.max)}]`;
}

// The number a VALUE is ordered by; null where it has none.
function valueNumber(value) {
  if (value === null || value === undefined)
    return null;
  if (typeof value !== "object")
    return value;
  if ("minCpus" in value)
    return (value.minCpus + value.maxCpus) / 2;
  return "min" in value ? (Number(value.min) + Number(value.max)) / 2 : null;
}

// As when_format_span(): what does not fit is cut, so that the page and the table agree to the digit.
function formatSpan(ns) {
  const span = BigInt(ns), seconds = span / 1000000000n;
  if (seconds < 3600n)
    return (seconds < 60n ? "" : `${seconds / 60n}min `) + withPoint(span / 1000000n % 60000n, 3, false) + "s";
  const days = seconds >= 86400n;
  const parts = [[seconds / 86400n, "d"], [seconds / 3600n % 24n, "h"], [seconds / 60n % 60n, "min"], [seconds % 60n, "s"]];
  return parts.slice(days ? 0 : 1, days ? 3 : 4).filter(([amount]) => amount > 0n).map(([amount, name]) => amount + name).join(" ");
}

// Seconds in each second.
function formatCpus(ns, elapsedNs) {
  const [elapsed] = exactly(elapsedNs);
  if (elapsed > 0n && Number(ns) === 0)
    return "0";
  return elapsed > 0n ? withPoint(roundTo(...exactly([ns, elapsed]), 2), 2, false) : "-";
}

// An amount in each second of a span; of two integers.
function formatPerSecond(amount, elapsedNs, unit) {
  const [elapsed] = exactly(elapsedNs);
  return elapsed > 0n ? formatQuantity([BigInt(amount) * 1000000000n, elapsed], unit, {derived: true}) + "/s" : "-";
}

// A part of a whole.
function formatPart(part, whole) {
  return Number(whole) > 0 ? (Number(part) / Number(whole) * 100).toFixed(1) + "%" : "-";
}
