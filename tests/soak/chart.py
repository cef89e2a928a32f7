# SPDX-License-Identifier: GPL-2.0-or-later
"""The curves of a run as one SVG file, readable by itself."""
import html
import math

from record import percentile

WIDTH = 1200
MARGIN = 64
WIDE_HEIGHT = 150
SMALL_COLUMNS, SMALL_HEIGHT = 4, 120
GAP = 64
INK, FAINT, GRID, SHADE = "#1f2933", "#66727f", "#e3e7eb", "#f1f3f5"
BLUE, ORANGE, GREEN = "#1d5fa8", "#d9730d", "#2b8a3e"
BUCKETS = 48


class Axis:
    """A range of values on a range of pixels."""

    def __init__(self, low, high, begin, end, logarithmic=False):
        self.logarithmic = logarithmic
        self.low, self.high = self._shape(low), self._shape(high)
        self.begin, self.end = begin, end

    def _shape(self, value):
        return math.log10(value) if self.logarithmic else value

    def __call__(self, value):
        share = (self._shape(value) - self.low) / ((self.high - self.low) or 1)
        return self.begin + min(1, max(0, share)) * (self.end - self.begin)


def round_step(span, n):
    """The smallest of 1, 2, 5 times a power of ten that divides the span into n parts at most."""
    power = 10 ** math.floor(math.log10(max(span, 1e-9) / n))
    return next(factor * power for factor in (1, 2, 5, 10) if span / (factor * power) <= n)


def decade_text(seconds):
    for limit, factor, unit in ((0.99, 1, "s"), (0.99e-3, 1e3, "ms"), (0, 1e6, "\u00b5s")):
        if seconds >= limit:
            break
    return f"{seconds * factor:.0f} {unit}"


class Drawing:
    def __init__(self):
        self.parts = []

    def text(self, x, y, text, size=12, anchor="start", colour=INK, weight="normal"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
                          f'fill="{colour}" font-weight="{weight}">{html.escape(text)}</text>')

    def line(self, x1, y1, x2, y2, colour=GRID, width=1, dash=""):
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
                          f'stroke-width="{width}"{dashes}/>')

    def curve(self, points, colour, width=1.5):
        words = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{words}" fill="none" stroke="{colour}" stroke-width="{width}" '
                          f'stroke-linejoin="round"/>')

    def area(self, points, colour, opacity):
        words = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polygon points="{words}" fill="{colour}" fill-opacity="{opacity}"/>')

    def band(self, x1, x2, y1, y2):
        self.parts.append(f'<rect x="{x1:.1f}" y="{y1:.1f}" width="{max(x2 - x1, 1):.1f}" '
                          f'height="{y2 - y1:.1f}" fill="{SHADE}"/>')

    def dot(self, x, y, colour):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}" stroke="white" '
                          f'stroke-width="1.5"/>')

    def svg(self, height):
        body = "\n".join(self.parts)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" '
                f'viewBox="0 0 {WIDTH} {height:.0f}" font-family="system-ui, \'DejaVu Sans\', sans-serif">\n'
                f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n')


class Chart:
    def __init__(self, rows, record, begun, title):
        self.rows, self.record, self.begun = rows, record, begun
        self.drawing = Drawing()
        self.seconds = max(rows[-1]["seconds"], 1)
        self.y = 40
        self.drawing.text(MARGIN, self.y, "A long day of ctprofd in some minutes", 22, weight="600")
        self.drawing.text(MARGIN, self.y + 22, title, 13, colour=FAINT)
        self.y += 62

    def _time_unit(self):
        return "minutes" if self.seconds > 180 else "seconds"

    def time_axis(self, left, right):
        return Axis(0, self.seconds, left, right)

    def _draw_time(self, axis, top, bottom, n, unit=True):
        factor = 60 if self._time_unit() == "minutes" else 1
        step = round_step(self.seconds / factor, n)
        tick = 0
        while tick * factor <= self.seconds:
            x = axis(tick * factor)
            self.drawing.line(x, top, x, bottom)
            self.drawing.text(x, bottom + 15, f"{tick:g}", 11, "middle", FAINT)
            tick += step
        if unit:
            self.drawing.text(axis.end, bottom + 30, self._time_unit(), 11, "end", FAINT)

    def _quiet_spans(self):
        """Begin and end of each time in which all clients hung up and waited."""
        begin = None
        for row in self.rows:
            if row["phase"] == "pause" and begin is None:
                begin = row["seconds"]
            elif row["phase"] == "quiet" and begin is not None:
                yield begin, row["seconds"]
                begin = None

    def wide(self, title, unit, series, quiet_dots=False):
        """A panel as wide as the page: @series of (name, colour, values)."""
        top, bottom, left, right = self.y + 14, self.y + 14 + WIDE_HEIGHT, MARGIN, WIDTH - MARGIN
        x_axis = self.time_axis(left, right)
        high = max(max(values) for _, _, values in series) * 1.08 or 1
        y_axis = Axis(0, high, bottom, top)
        for begin, end in self._quiet_spans():
            self.drawing.band(x_axis(begin), x_axis(end), top, bottom)
        self._draw_time(x_axis, top, bottom, 20)
        step = round_step(high, 5)
        tick = 0
        while tick <= high:
            self.drawing.line(left, y_axis(tick), right, y_axis(tick))
            self.drawing.text(left - 8, y_axis(tick) + 4, f"{tick:g}", 11, "end", FAINT)
            tick += step
        for _, colour, values in series:
            points = [(x_axis(row["seconds"]), y_axis(value)) for row, value in zip(self.rows, values)]
            self.drawing.curve(points, colour)
        if quiet_dots:
            dots = [(row, value) for row, value in zip(self.rows, series[0][2]) if row["phase"] == "quiet"]
            for row, value in dots:
                x, y = x_axis(row["seconds"]), y_axis(value)
                self.drawing.dot(x, y, GREEN)
                # At the right edge there is room only to the left.
                anchor = "end" if x > right - 20 else "middle"
                self.drawing.text(x, y + 18, f"{value:.1f}", 11, anchor, GREEN, "600")
        self.drawing.line(left, bottom, right, bottom, INK)
        self.drawing.text(left, self.y, title, 14, weight="600")
        self._legend(right, self.y, [(f"{name}, {unit}" if unit else name, colour) for name, colour, _ in series]
                     + ([("all clients have hung up", GREEN)] if quiet_dots else []))
        self.y = bottom + GAP

    def _legend(self, right, y, entries):
        for name, colour in reversed(entries):
            self.drawing.text(right, y, name, 12, "end", FAINT)
            right -= 6.6 * len(name) + 8
            self.drawing.line(right - 18, y - 4, right, y - 4, colour, 3)
            right -= 32

    def _buckets(self, pairs):
        """Of latencies: the middle of each span of time, p50 and p99."""
        length = self.seconds / BUCKETS
        buckets = {}
        for when, seconds in zip(pairs[::2], pairs[1::2]):
            buckets.setdefault(int((when - self.begun) / length), []).append(seconds)
        return [((index + 0.5) * length, percentile(values, 0.5), percentile(values, 0.99))
                for index, values in sorted(buckets.items())]

    def _small(self, left, top, width, title, pairs, y_range):
        right, bottom = left + width, top + SMALL_HEIGHT
        x_axis, y_axis = self.time_axis(left, right), Axis(*y_range, bottom, top, logarithmic=True)
        for begin, end in self._quiet_spans():
            self.drawing.band(x_axis(begin), x_axis(end), top, bottom)
        self._draw_time(x_axis, top, bottom, 4, unit=False)
        decade = y_range[0]
        while decade <= y_range[1] * 1.001:
            self.drawing.line(left, y_axis(decade), right, y_axis(decade))
            self.drawing.text(left - 6, y_axis(decade) + 4, decade_text(decade), 10, "end", FAINT)
            decade *= 10
        points = self._buckets(pairs)
        if points:
            half = [(x_axis(when), y_axis(p50)) for when, p50, _ in points]
            nearly_all = [(x_axis(when), y_axis(p99)) for when, _, p99 in points]
            self.drawing.area(half + nearly_all[::-1], ORANGE, 0.12)
            self.drawing.curve(nearly_all, ORANGE, 1.3)
            self.drawing.curve(half, BLUE, 1.8)
        self.drawing.line(left, bottom, right, bottom, INK)
        self.drawing.text(left, top - 8, title, 12, weight="600")
        count = f"{len(pairs) // 2:,}".replace(",", "\u202f") + ("" if len(title) > 20 else " calls")
        self.drawing.text(right, top - 8, count, 11, "end", FAINT)

    def latencies(self):
        panels = [(method, self.record.latencies["socket", method])
                  for method in sorted(self.record.methods("socket")) if self.record.of("socket", method).get("ok")]
        everything = sorted((pair for method in self.record.methods("ctprofctl")
                             for pair in zip(*[iter(self.record.latencies["ctprofctl", method])] * 2)))
        panels.append(("ctprofctl, all verbs", [value for pair in everything for value in pair]))
        panels = [(title, pairs) for title, pairs in panels if len(pairs) >= 8]
        if not panels:
            return
        seconds = sorted(value for _, pairs in panels for value in pairs[1::2])
        # Connecting alone may take a microsecond or two; the few that are below the frame stand on its edge.
        y_range = (10 ** math.floor(math.log10(max(percentile(seconds, 0.01), 1e-6))),
                   10 ** math.ceil(math.log10(seconds[-1])))
        self.drawing.text(MARGIN, self.y, "How long calls take, by method", 14, weight="600")
        self.drawing.text(MARGIN + 260, self.y, f"each point is of {self.seconds / BUCKETS:.0f} s", 12, colour=FAINT)
        self._legend(WIDTH - MARGIN, self.y, [("p50", BLUE), ("p99", ORANGE)])
        width = (WIDTH - 2 * MARGIN - (SMALL_COLUMNS - 1) * GAP) / SMALL_COLUMNS
        top = self.y + 40
        for number, (title, pairs) in enumerate(panels):
            row, column = divmod(number, SMALL_COLUMNS)
            self._small(MARGIN + column * (width + GAP), top + row * (SMALL_HEIGHT + GAP), width, title, pairs, y_range)
        n_rows = -(-len(panels) // SMALL_COLUMNS)
        self.y = top + n_rows * (SMALL_HEIGHT + GAP)
        self.drawing.text(WIDTH - MARGIN, self.y - GAP + 34, self._time_unit(), 11, "end", FAINT)


def draw(rows, record, begun, title):
    """@rows: of the sampler; latencies count from @begun, of the monotonic clock."""
    if len(rows) < 2:
        return Drawing().svg(100)
    chart = Chart(rows, record, begun, title)
    rss_mib = [row["rss_kib"] / 1024 for row in rows]
    chart.wide("Memory of the main process", "MiB", [("RSS", BLUE, rss_mib)], quiet_dots=True)
    chart.wide("Descriptors of the main process", "", [("all", BLUE, [row["descriptors"] for row in rows]),
                                                       ("sockets", ORANGE, [row["sockets"] for row in rows])])
    chart.wide("Jobs", "", [("children", BLUE, [row["children"] for row in rows])])
    chart.latencies()
    return chart.drawing.svg(chart.y)
