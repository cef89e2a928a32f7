# SPDX-License-Identifier: GPL-2.0-or-later
"""A daemon that has a recording, whatever it is asked for, and stacks of a later one, in place of ctprofd."""
import json
import socket
import threading

PER_REPLY = 200


def positions_of(stack):
    """Any place, and none of functions of the kernel."""
    in_kernel = [frame for frame in stack["frames"] if frame.startswith(("entry_", "asm_", "ret_from"))]
    n_user = stack["frames"].index(in_kernel[0]) if in_kernel else len(stack["frames"])
    return [[int(frame.startswith("[")), 16 * len(frame)] if i < n_user else None for i, frame in enumerate(stack["frames"])]


def lines_of(stack):
    """Of functions that begin with a small letter, in files of their names."""
    return [[f"/src/{frame}.c", 10 * len(frame)] if frame[0].islower() and frame.isidentifier() and place else None
            for frame, place in zip(stack["frames"], positions_of(stack))]


def longer(steps, times):
    """The same steps again and again, one behind the other."""
    length = steps[-1]["endBoottimeNs"] - steps[0]["beginBoottimeNs"]
    return [dict(step, **{key: step[key] + i * length for key in ("beginBoottimeNs", "endBoottimeNs")}) for i in range(times) for step in steps]


def in_places(steps, wanted):
    return [dict(step, groups=[dict(group, places=places) for group in step["groups"]
                               if (places := {place: ns for place, ns in group["places"].items() if not wanted or place in wanted})])
            for step in steps]


def without_queue(first, second, *others):
    """What a kernel tells that does not count how long threads wait for a CPU."""
    some = [place for place in first["recording"]["coursePlaces"] if place != "run_queue"]
    return [dict(first, recording=first["recording"] | {"coursePlaces": some}), dict(second, steps=in_places(second["steps"], some)), *others]


def histograms_of(first, rows, wanted):
    """@rows: [[process, thread, place, {atLeastNs: [count, ns]}]...], those of most time first."""
    found, places = [], {}
    for process, thread, place, buckets in rows:
        count, ns = map(sum, zip(*buckets.values()))
        places[place] = places.get(place, 0) + ns
        found.append({"process": process, "thread": thread, "place": place, "count": count, "ns": ns,
                      "buckets": [{"atLeastNs": int(low), "belowNs": max(1000, 2 * int(low)), "count": each[0], "ns": each[1]}
                                  for low, each in buckets.items()]})
    found = [one for one in found if one["place"] in wanted.get("places", [one["place"]])]
    some = found[:wanted.get("limit")]
    facts = first["recording"] | {"histogram": True, "lostLengths": 0, "unknownLengths": 3}
    return [dict(first, places=places, recording=facts), {"histograms": some}, {"hiddenHistograms": len(found) - len(some)}]


def sets_of(answers, wanted):
    """Groups of two sets of recordings, or, with "stacks", these; "limit" and "places" are obeyed."""
    names = {side: [one["name"] for one in wanted[side]] for side in ("before", "after")}
    head = answers["Stacks"][0]["snapshot"]
    heads = {side: [dict(head, name=name, fileKind="snapshot" if name == "after-1" else "recording") for name in names[side]] for side in names}
    first = {"kind": "sets"} | heads
    if not wanted.get("stacks"):
        return [first | answers["CompareSets"][0], *answers["CompareSets"][1:]]
    recorded = {f"recorded{side.title()}": [{key: answers["Stacks"][0][key] for key in ("recording", "elapsedNs")} for _ in names[side]] for side in names}
    stacks = [one for one in answers["SetStacks"][1]["stacks"] if one["place"] in wanted.get("places", [one["place"]])]
    some = stacks[:wanted.get("limit")]
    return [first | recorded | answers["SetStacks"][0], {"stacks": some}, {"hiddenStacks": len(stacks) - len(some)}]


def replies_to(call, answers):
    """The parameters of each reply; "limit", "places", "wakers", "course", "files" and "histogram" of Stacks are obeyed."""
    method = call["method"].rpartition(".")[2]
    name = call["parameters"].get("recording", {}).get("name")
    times = 10 if name in ("long-course", "long-unqueued-course") else 1
    parts = answers.get(f"{method} {(name or '').rpartition('-')[2]}", answers[method])
    if "unqueued" in (name or "") and method == "Stacks":
        parts = without_queue(*parts)
    if method == "CompareSets":
        return sets_of(answers, call["parameters"])
    if method in ("Info", "Show"):
        asked = {"name": call["parameters"]["snapshot"]["name"]}
        return [dict(parts[0], **{key: parts[0][key] | asked for key in ("snapshot", "before", "after") if key in parts[0]}), *parts[1:]]
    if method != "Stacks":
        return parts
    if call["parameters"].get("histogram"):
        return histograms_of(parts[0], answers["Histograms"], call["parameters"])
    wanted, places = call["parameters"], {}
    stacks = answers["Wakers"] if wanted.get("wakers") else parts[1]["stacks"]
    for stack in stacks:
        places[stack["place"]] = places.get(stack["place"], 0) + stack["ns"]
    stacks = [stack for stack in stacks if stack["place"] in wanted.get("places", [stack["place"]])]
    steps = [{"steps": in_places(longer(parts[1]["steps"], times), wanted.get("places"))}] if wanted.get("course") and "steps" in parts[1] else []
    some, files = stacks[:wanted.get("limit")], {}
    if wanted.get("lines"):
        some = [dict(stack, lines=lines_of(stack)) for stack in some]
    if wanted.get("files"):
        some = [dict(stack, positions=positions_of(stack)) for stack in some]
        files = {"files": [{"path": "/usr/bin/app", "buildId": "0123456789abcdef"}, {"path": "/usr/lib/libodd.so", "buildId": ""}]}
    return [dict(parts[0], places=places) | files, *steps, *({"stacks": some[i:i + PER_REPLY]} for i in range(0, len(some), PER_REPLY)),
            {"hiddenStacks": len(stacks) - len(some)}]


def answer(stream, answers):
    call = b""
    while not call.endswith(b"\0"):
        byte = stream.read(1)
        if not byte:
            return
        call += byte
    replies = replies_to(json.loads(call[:-1]), answers)
    for number, parameters in enumerate(replies, 1):
        reply = {"parameters": parameters} | ({"continues": True} if number < len(replies) else {})
        stream.write(json.dumps(reply).encode() + b"\0")


def serve(path, answers):
    """Until the program ends. @answers: {method: [parameters...]}."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def accept():
        while True:
            connection, _ = listener.accept()
            with connection, connection.makefile("rwb") as stream:
                answer(stream, answers)

    threading.Thread(target=accept, daemon=True).start()
