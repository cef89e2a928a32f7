# SPDX-License-Identifier: GPL-2.0-or-later
"""What came of all calls: outcomes, latencies, and both as tables."""
import array
import collections
import csv

WIDTH = 80
IN_COLUMNS = {"ok", "equal", "Busy", "JobFailed"}


def percentile(values, share):
    """Nearest rank; None of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def seconds_text(value):
    if value is None:
        return "-"
    for limit, factor, unit in ((1e-3, 1e6, "us"), (1, 1e3, "ms"), (1e9, 1, "s")):
        if value < limit:
            return f"{value * factor:.3g}{unit}" if value * factor < 1000 else f"{value * factor:.0f}{unit}"
    return "-"


class Record:
    def __init__(self):
        self.outcomes = collections.Counter()                      # (via, method, outcome)
        self.latencies = collections.defaultdict(lambda: array.array("d"))  # (via, method) -> when, seconds, ...
        self.of_uid = collections.defaultdict(lambda: array.array("d"))     # uid -> seconds, over the socket
        self.reasons = collections.Counter()                       # of JobFailed

    def take(self, uid, when, method, via, outcome, seconds, n):
        self.outcomes[via, method, outcome] += n
        if seconds is not None and via != "misuse":
            self.latencies[via, method].extend((when, seconds))
        if seconds is not None and via == "socket":
            self.of_uid[uid].append(seconds)

    def total(self, via):
        return sum(n for (how, _, _), n in self.outcomes.items() if how == via)

    def methods(self, via):
        """Names, those with most calls first."""
        counts = collections.Counter()
        for (how, method, _), n in self.outcomes.items():
            if how == via:
                counts[method] += n
        return [method for method, _ in counts.most_common()]

    def of(self, via, method):
        return {outcome: n for (how, name, outcome), n in self.outcomes.items() if (how, name) == (via, method)}

    def seconds(self, via, method):
        return self.latencies[via, method][1::2]

    def write_csv(self, path):
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["via", "method", "outcome", "calls"])
            for key, n in sorted(self.outcomes.items()):
                writer.writerow([*key, n])

    def _call_lines(self, via, title):
        yield f"{title:<24}{'calls':>8}{'ok':>8}{'Busy':>7}{'JobFail':>8}{'other':>7}{'p50':>9}{'p99':>9}"
        for method in self.methods(via):
            outcomes = self.of(via, method)
            n, ok = sum(outcomes.values()), outcomes.get("ok", 0) + outcomes.get("equal", 0)
            busy, failed = outcomes.get("Busy", 0), outcomes.get("JobFailed", 0)
            seconds = self.seconds(via, method)
            yield (f"  {method:<22.22}{n:>8}{ok:>8}{busy:>7}{failed:>8}{n - ok - busy - failed:>7}"
                   f"{seconds_text(percentile(seconds, 0.5)):>9}{seconds_text(percentile(seconds, 0.99)):>9}")

    def _wrapped(self, head, words):
        line = f"  {head:<22.22}"
        for word in words:
            if len(line) + len(word) + 2 > WIDTH:
                yield line.rstrip()
                line = " " * 24
            line += word + "  "
        yield line.rstrip()

    def lines(self):
        """The tables, 80 columns wide."""
        yield from self._call_lines("socket", "over the socket")
        yield ""
        yield from self._call_lines("ctprofctl", "ctprofctl")
        yield ""
        yield "misuse, and what came of it"
        for method in self.methods("misuse"):
            outcomes = sorted(self.of("misuse", method).items(), key=lambda pair: -pair[1])
            yield from self._wrapped(method, [f"{outcome} {n}" for outcome, n in outcomes])
        yield ""
        yield "other named errors"
        for method in self.methods("socket"):
            outcomes = sorted(self.of("socket", method).items(), key=lambda pair: -pair[1])
            words = [f"{outcome} {n}" for outcome, n in outcomes if outcome not in IN_COLUMNS]
            if words:
                yield from self._wrapped(method, words)
        yield ""
        yield "why jobs failed"
        for reason, n in self.reasons.most_common(12):
            yield f"  {n:>6}  {reason:.70}"
        yield ""
        yield f"{'waiting by user':<24}{'calls':>8}{'p50':>9}{'p99':>9}{'longest':>9}"
        for uid, seconds in sorted(self.of_uid.items()):
            yield (f"  uid {uid:<18}{len(seconds):>8}{seconds_text(percentile(seconds, 0.5)):>9}"
                   f"{seconds_text(percentile(seconds, 0.99)):>9}{seconds_text(max(seconds, default=None)):>9}")
