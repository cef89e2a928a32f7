# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads profiles of pprof: the parts of protocol buffers, and of profile.proto, that there are in ours."""
import gzip


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            if value >> 64:
                raise ValueError("a number of more than 64 bits")
            return value, at


def varints(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def message(data):
    """{number of a field: [value...]}; raises ValueError or IndexError for what is no message of numbers and bytes."""
    at, fields = 0, {}
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            n, at = varint(data, at)
            value = data[at:at + n]
            if len(value) < n:
                raise ValueError("a field that is cut")
            at += n
        else:
            raise ValueError(f"a field of kind {tag & 7}")
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def first(fields, number, default=0):
    return fields.get(number, [default])[-1]


def read(data):
    """A dictionary of what is in it, with names in place of numbers; raises if one refers to nothing."""
    profile = message(gzip.decompress(data))
    texts = [text.decode() for text in profile[6]]
    if texts[0] != "" or len(set(texts)) != len(texts):
        raise ValueError("texts")
    named = [message(part) for part in profile.get(5, [])]
    functions = {part[1][0]: texts[first(part, 2)] for part in named}
    mappings = {}
    for part in map(message, profile.get(3, [])):
        mappings[part[1][0]] = {"path": texts[first(part, 5)], "build_id": texts[first(part, 6)], "start": first(part, 2), "limit": first(part, 3),
                                "has_functions": first(part, 7) == 1}
    bounds = sorted((part["start"], part["limit"]) for part in mappings.values())
    if any(begin[1] > end[0] for begin, end in zip(bounds, bounds[1:])):
        raise ValueError("mappings overlap")
    locations = {}
    for part in map(message, profile.get(4, [])):
        mapping = mappings[first(part, 2)] if 2 in part else None
        offset = first(part, 3) - mapping["start"] if mapping else None
        if mapping and not 0 <= offset < mapping["limit"] - mapping["start"]:
            raise ValueError("a location outside of its file")
        locations[part[1][0]] = (functions[message(part[4][0])[1][0]], mapping and mapping["path"], offset)
    if len(functions) != len(named) or len(locations) != len(profile.get(4, [])):
        raise ValueError("a number that is there twice")
    types = [(texts[first(part, 1)], texts[first(part, 2)]) for part in map(message, profile[1])]
    samples = []
    for part in map(message, profile.get(2, [])):
        labels = {texts[label[1][0]]: texts[first(label, 2)] for label in map(message, part.get(3, []))}
        values = varints(first(part, 2, b""))
        if len(values) != len(types):
            raise ValueError("a sample without its values")
        # The innermost function comes first in the file.
        samples.append({"frames": [locations[number] for number in reversed(varints(first(part, 1, b"")))],
                        "values": dict(zip((name for name, _ in types), values)), "labels": labels})
    return {"types": types, "samples": samples, "mappings": [part for _, part in sorted(mappings.items())],
            "time_ns": first(profile, 9), "duration_ns": first(profile, 10), "default_type": texts[first(profile, 14)]}


def as_text(data):
    profile = read(data)
    lines = [f"{name}/{unit}" for name, unit in profile["types"]]
    lines += [f"{key} {profile[key]}" for key in ("time_ns", "duration_ns", "default_type")]
    lines += [f"{part['path']} {part['build_id']} {part['start']:#x}-{part['limit']:#x} {part['has_functions']}" for part in profile["mappings"]]
    for sample in profile["samples"]:
        lines.append(f"{sample['values']} {sample['labels']}")
        lines += [f"  {name}" + (f" {path}+{offset:#x}" if path is not None else "") for name, path, offset in sample["frames"]]
    return "\n".join(lines) + "\n"
