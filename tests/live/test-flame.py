#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The flame graph of a recording, in a browser: how wide its boxes are, what a click does, how much it can hold."""
import copy
import json
import pathlib
import random
import re
import sys

from browser import Browser
from harness import CTPROFCTL, expect, expect_equal, main, run, temporary, test

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"
sys.path.insert(0, str(GOLDEN))
import recorder  # noqa: E402  pylint: disable=wrong-import-position

RECORDING = json.loads((GOLDEN / "recording.json").read_text(encoding="utf-8"))
HOSTILE = ["</script><script>window.owned=1</script>", "<!--<script>", "<img src=x onerror=window.owned=1>",
           "${window.owned=1}", "\u2028\u202eright", "a\u001fb", "{{data}}", "__proto__", "constructor"]
MANY = 100000
BOXES = "shownGraph.boxes.map(b => [shownGraph.nameOf(b.id), b.depth, b.x, b.width])"
# A click into the middle of the first box of that name.
CLICK = """
    const box = shownGraph.boxes.find(b => shownGraph.nameOf(b.id) === arguments[0]);
    const canvas = document.getElementById("graph"), place = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new MouseEvent("click", {bubbles: true, clientX: place.left + box.x + box.width / 2,
                                                  clientY: place.top + box.depth * 19 + 5}));"""


class Page:
    """The page of the recording with these stacks, or of other words, in a browser."""

    def __init__(self, stacks=None, words=("show", "recording")):
        self.words = words
        self.answers = copy.deepcopy(RECORDING)
        self.stacks = self.answers["Stacks"][1]["stacks"]
        if stacks is not None:
            self.answers["Stacks"][1]["stacks"] = self.stacks = stacks

    def __enter__(self):
        self.temporary = temporary()
        directory = self.temporary.__enter__()
        try:
            recorder.serve(directory / "socket", self.answers)
            result = run(CTPROFCTL, *self.words, "--format", "html", env={"CTPROF_SOCKET": str(directory / "socket")})
            expect_equal((result.status, result.err), (0, ""), "show")
            self.size = len(result.out.encode())
            page = directory / "page.html"
            page.write_text(result.out, encoding="utf-8")
            self.browser = Browser.shared()
            self.browser.open(page)
        except BaseException:
            self.temporary.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        try:
            said, asked = self.browser.logs()
            expect_equal(said, [], "what the console says")
            expect_equal([address for address in asked if not address.startswith(("file:", "data:"))], [], "asked for")
        finally:
            self.temporary.__exit__(None, None, None)

    def boxes(self):
        return self.browser.run(f"return {BOXES}")

    def width(self):
        return self.browser.run("return document.getElementById('stage').clientWidth")

    def ns(self, *places):
        """By process, of the places that are on."""
        sums = {}
        for stack in self.stacks:
            if stack["place"] in places or not places and stack["place"] not in ("sleep", "poll"):
                sums[stack["process"]] = sums.get(stack["process"], 0) + stack["ns"]
        return sums


@test
def boxes_are_as_wide_as_time():
    """the box of each process has its share of the time in places that are on"""
    with Page() as page:
        sums, width = page.ns(), page.width()
        shown = {name: box_width for name, depth, _, box_width in page.boxes() if depth == 0}
        for name, ns in sums.items():
            share = ns / sum(sums.values())
            if share * width >= 0.5 and "\x1b" not in name:
                expect(abs(shown[name] - share * width) < 0.01, name, shown[name], share * width)
        expect("idle-app" not in shown, "what has no work begins switched off")
        page.browser.run("[...document.querySelectorAll('#legend button')].find(b => b.innerText.startsWith('poll')).click()")
        expect("idle-app" in {name for name, depth, *_ in page.boxes() if depth == 0}, "a switch turns it on")


@test
def a_click_zooms():
    """a click makes a function as wide as the page, and another one takes it back"""
    with Page() as page:
        before = page.boxes()
        page.browser.run(CLICK, "flush")
        zoomed = {name: width for name, _, _, width in page.boxes()}
        expect(abs(zoomed["flush"] - page.width()) < 0.01, zoomed)
        expect("compute" not in zoomed and "pthread_mutex_lock" in zoomed, zoomed)
        detail = page.browser.run("return document.getElementById('detail').innerText")
        expect(detail.startswith("flush") and "7.91 s" in detail and "230 samples" in detail, detail)
        page.browser.run("document.getElementById('reset').click()")
        expect_equal(page.boxes(), before, "after the reset")


@test
def a_graph_is_turned_around():
    """inverted it begins with places and innermost functions; by thread threads follow processes"""
    with Page() as page:
        page.browser.run("document.getElementById('inverted').click()")
        boxes = page.boxes()
        expect_equal({name for name, depth, _, width in boxes if depth == 0 and width > 50}, {"[lock]", "[running]", "[storage]"}, "places")
        expect("mix_rounds" in {name for name, depth, *_ in boxes if depth == 1}, boxes)
        page.browser.run("document.getElementById('inverted').click(); document.getElementById('threads').click()")
        expect("thread worker" in {name for name, depth, *_ in page.boxes() if depth == 1}, page.boxes())


@test
def two_recordings_have_one_graph():
    """boxes are as wide as the larger of both times, scaled to the length of the later, and tell both; what is gone is there"""
    with Page(words=("compare", "recording", "later")) as page:
        expect_equal(page.browser.run("return document.getElementById('title').innerText"), "recording → later", "title")
        later = page.answers["Stacks later"]
        sums = [{}, {}]
        for side, parts, scale in ((0, page.answers["Stacks"], later[0]["elapsedNs"] / page.answers["Stacks"][0]["elapsedNs"]), (1, later, 1)):
            for stack in parts[1]["stacks"]:
                if stack["place"] not in ("sleep", "poll"):
                    key = stack["process"], stack["place"], tuple(stack["frames"])
                    sums[side][key] = sums[side].get(key, 0) + stack["ns"] * scale
        larger = {key: max(side.get(key, 0) for side in sums) for key in sums[0] | sums[1]}
        shown = {name: width for name, depth, _, width in page.boxes() if depth == 0}
        for name in ("app", "gzip", "postgres", "c++ server"):
            share = sum(ns for key, ns in larger.items() if key[0] == name) / sum(larger.values())
            expect(abs(shown[name] - share * page.width()) < 0.01, name, shown[name], share * page.width())
        page.browser.run(CLICK, "flush")
        detail = page.browser.run("return document.getElementById('detail').innerText")
        expect(re.search(r"3\.96 s → 6\.80 s, \+2\.8[45] s ± 62\.1 ms, 360 samples", detail), detail)
        hidden = page.browser.run("return document.getElementById('threads').parentElement.hidden")
        expect(hidden, "threads of two recordings cannot be told")


@test
def a_search_counts():
    """the search says how much time has what it finds in its stacks"""
    with Page() as page:
        page.browser.run("const e = document.getElementById('search'); e.value = 'FLUSH'; e.dispatchEvent(new Event('input'));")
        page.browser.wait("document.getElementById('found').innerText !== ''")
        text = page.browser.run("return document.getElementById('found').innerText")
        expect_equal(text, "7.91 s found, 54 % of what is shown", "found")


@test
def narrow_screens_have_room():
    """at 390 pixels nothing is wider than the page, light or dark"""
    with Page() as page:
        page.browser.size(390, 844)
        for scheme in ("light", "dark"):
            page.browser.scheme(scheme)
            page.browser.wait("shownGraph.boxes.length > 0 && document.getElementById('graph').clientWidth <= 390")
            expect(page.browser.run("return document.documentElement.scrollWidth") <= 390, "it is too wide")


class CoursePage(Page):
    """The same with the steps of another recording."""

    def __init__(self):
        super().__init__()
        course = self.answers["Stacks course"]
        self.steps = course[1]["steps"]
        self.answers["Stacks"][0]["recording"] = course[0]["recording"]
        self.answers["Stacks"][1]["steps"] = self.steps

    def told(self):
        return self.browser.run("return [document.getElementById('span').innerText, "
                                "[...document.querySelectorAll('#span-rows li')].map(row => row.innerText)]")


@test
def a_span_of_time_is_selected():
    """a strip has the steps of the recording; a span of it, by pointer or by keys, has its figures; the stacks stay"""
    with CoursePage() as page:
        boxes, (text, listed) = page.boxes(), page.told()
        expect(text.startswith("all steps: running 0.786") and "those of the whole recording" in text, text)
        expect_equal(listed, [], "nothing is selected")
        width = page.browser.run("return document.getElementById('strip').clientWidth")
        page.browser.run("""
            const strip = document.getElementById("strip"), place = strip.getBoundingClientRect();
            strip.setPointerCapture = () => {};
            const send = (kind, share) => strip.dispatchEvent(new PointerEvent(kind, {
                bubbles: true, pointerId: 1, clientX: place.left + share * place.width, clientY: place.top + 9}));
            send("pointerdown", 0.6 / 3.9); send("pointermove", 1.2 / 3.9); send("pointerup", 1.2 / 3.9);""")
        text, listed = page.told()
        expect(text.startswith("500 ms to 1.50 s: running 0.541"), text, width)
        expect("app/worker lock 1.40 (1.40 s)" in listed and not [row for row in listed if "gzip" in row], listed)
        page.browser.run("[...document.querySelectorAll('#legend button')].find(b => b.innerText.startsWith('lock')).click()")
        expect(not [row for row in page.told()[1] if " lock " in row], page.told())
        page.browser.run("[...document.querySelectorAll('#legend button')].find(b => b.innerText.startsWith('lock')).click()")
        for key, shift, begin in (("Escape", False, "all steps:"), ("ArrowLeft", False, "3.50 s to 3.90 s:"),
                                  ("ArrowLeft", True, "3.00 s to 3.90 s:")):
            page.browser.run("document.getElementById('strip').dispatchEvent(new KeyboardEvent('keydown', "
                             "{key: arguments[0], shiftKey: arguments[1]}))", key, shift)
            expect(page.told()[0].startswith(begin), key, page.told())
        # What is told takes room, and a scroll bar may make the page narrower.
        expect_equal([box[:2] for box in page.boxes()], [box[:2] for box in boxes], "the graph")
        page.browser.size(390, 844)
        page.browser.wait("document.getElementById('strip').clientWidth <= 390")
        expect(page.browser.run("return document.documentElement.scrollWidth") <= 390, "it is too wide")
    with Page() as page:
        expect(page.browser.run("return document.getElementById('course').hidden"), "no steps, no strip")


@test
def names_do_nothing():
    """whatever functions and processes are called is text"""
    stacks = [dict(RECORDING["Stacks"][1]["stacks"][2], process=name, thread=name, place=name if i % 2 else "lock",
                   frames=["main", name, *HOSTILE]) for i, name in enumerate(HOSTILE)]
    with Page(stacks) as page:
        expect_equal(page.browser.run("return [window.owned, document.scripts.length]"), [None, 1], "what came of it")
        expect("<!--<script>" in {name for name, *_ in page.boxes()}, page.boxes())
        for name in ("inverted", "threads"):
            page.browser.run("document.getElementById(arguments[0]).click()", name)
        expect_equal(page.browser.run("return window.owned"), None, "what came of it")


def many_stacks():
    """They share beginnings, as those of programs do."""
    dice = random.Random(7)
    names = [f"function_{number}_{'x' * dice.randrange(30)}" for number in range(6000)]
    frames, stacks, process = ["main"], [], ""
    for number in range(MANY):
        if number % 1500 == 0:
            process = f"process-{dice.randrange(60)}"
        frames = frames[:dice.randint(1, len(frames))]
        while len(frames) < 15 or dice.random() < 0.9 and len(frames) < 45:
            frames.append(names[dice.randrange(40 * len(frames) + 5) % len(names)])
        ns = int(dice.expovariate(1e-8)) + 1
        stacks.append({"process": process, "thread": f"thread-{dice.randrange(9)}", "place": dice.choice(("lock", "running", "storage")),
                       "ns": ns, "samples": dice.randrange(1, 90), "maxNs": ns, "standardErrorNs": ns // 9, "exact": False,
                       "frames": list(frames)})
    return stacks


@test
def a_hundred_thousand_stacks_open_at_once():
    """so many are less than 10 MB, all of them are shown, and the graph turns around"""
    with Page(many_stacks()) as page:
        expect(page.size < 10 << 20, "bytes", page.size)
        expect_equal(page.browser.run("return shownGraph.rows.n"), MANY, "stacks")
        took = page.browser.run("return performance.getEntriesByType('navigation')[0].loadEventEnd")
        turned = page.browser.run("const t = performance.now(); document.getElementById('inverted').click(); return performance.now() - t")
        expect_equal(page.browser.run("return shownGraph.rows.n"), MANY, "stacks, inverted")
        # How long that takes is the machine's: two seconds are what it should take on one that is not busy.
        print(f"# {MANY} stacks: {page.size / 2**20:.1f} MiB, shown after {took:.0f} ms, turned around in {turned:.0f} ms")


main()
