# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads .varlink files and holds replies and errors against what they describe."""
import re

_TOKEN = re.compile(r"\s+|#[^\n]*|(->|\[\]|\[string\]|[(),:?]|[A-Za-z][A-Za-z0-9_.]*)")
_INTEGERS = range(-(2 ** 64 - 1), 2 ** 64)


class Mismatch(Exception):
    """Something that was answered is not what the interface describes."""


class _Scanner:
    def __init__(self, text):
        self.words = []
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if not match:
                raise ValueError(f"not varlink: {text[at:at + 20]!r}")
            if match[1]:
                self.words.append(match[1])
            at = match.end()
        self.words.reverse()

    def peek(self):
        return self.words[-1] if self.words else None

    def take(self, wanted=None):
        word = self.words.pop()
        if wanted and word != wanted:
            raise ValueError(f"{word!r} stands where {wanted!r} is expected")
        return word


def _scan_type(scanner):
    """A type as a tuple: ("?", T), ("[]", T), ("[string]", T), ("struct", {...}), ("enum", {...}) or (NAME,)."""
    word = scanner.peek()
    if word in ("?", "[]", "[string]"):
        scanner.take()
        return (word, _scan_type(scanner))
    if word == "(":
        return _scan_fields(scanner)
    return (scanner.take(),)


def _scan_fields(scanner):
    fields, words = {}, set()
    scanner.take("(")
    while scanner.peek() != ")":
        name = scanner.take()
        if scanner.peek() == ":":
            scanner.take(":")
            fields[name] = _scan_type(scanner)
        else:
            words.add(name)
        if scanner.peek() == ",":
            scanner.take(",")
    scanner.take(")")
    return ("enum", words) if words else ("struct", fields)


class Interface:
    """One .varlink file: its types, methods and errors."""

    def __init__(self, text):
        self.types, self.inputs, self.outputs, self.errors = {}, {}, {}, {}
        scanner = _Scanner(text)
        scanner.take("interface")
        self.name = scanner.take()
        while scanner.peek():
            kind, name = scanner.take(), scanner.take()
            if kind == "type":
                self.types[name] = _scan_type(scanner)
            elif kind == "error":
                self.errors[f"{self.name}.{name}"] = _scan_fields(scanner)
            elif kind == "method":
                self.inputs[name] = _scan_fields(scanner)
                scanner.take("->")
                self.outputs[f"{self.name}.{name}"] = _scan_fields(scanner)
            else:
                raise ValueError(f"{kind!r} is no kind of member")

    def check(self, what, value, where):
        kind = what[0]
        plain = {"bool": lambda v: isinstance(v, bool),
                 "int": lambda v: isinstance(v, int) and not isinstance(v, bool) and v in _INTEGERS,
                 "float": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
                 "string": lambda v: isinstance(v, str),
                 # Untyped: the kind of the answer decides, which the comment beside it tells.
                 "object": lambda v: isinstance(v, (dict, list, int, float, str)) and not isinstance(v, bool)}
        if kind in plain:
            if not plain[kind](value):
                raise Mismatch(f"{where} is no {kind}: {value!r:.60}")
        elif kind == "?":
            if value is not None:
                self.check(what[1], value, where)
        elif kind == "[]":
            if not isinstance(value, list):
                raise Mismatch(f"{where} is no array: {value!r:.60}")
            for index, element in enumerate(value):
                self.check(what[1], element, f"{where}[{index}]")
        elif kind == "[string]":
            self._check_dict(value, where)
            for key, element in value.items():
                self.check(what[1], element, f"{where}[{key!r}]")
        elif kind == "enum":
            if value not in what[1]:
                raise Mismatch(f"{where} is none of the words: {value!r:.60}")
        elif kind == "struct":
            self._check_struct(what[1], value, where)
        else:
            self.check(self.types[kind], value, where)

    @staticmethod
    def _check_dict(value, where):
        if not isinstance(value, dict):
            raise Mismatch(f"{where} is no object: {value!r:.60}")

    def _check_struct(self, fields, value, where):
        self._check_dict(value, where)
        for key in value.keys() - fields.keys():
            raise Mismatch(f"{where} has a member that is not described: {key}")
        for key, what in fields.items():
            if key not in value and what[0] != "?":
                raise Mismatch(f"{where} lacks {key}")
            if key in value:
                self.check(what, value[key], f"{where}.{key}")


class Description:
    """All interfaces of a service together."""

    def __init__(self, texts):
        self.interfaces = [Interface(text) for text in texts]

    def check_reply(self, method, message):
        """A decoded reply to a call of @method; returns the name of the error, "" when it is none."""
        if not isinstance(message, dict) or message.keys() - {"parameters", "continues", "error"}:
            raise Mismatch(f"{method}: no reply: {message!r:.80}")
        parameters = message.get("parameters", {})
        error = message.get("error")
        for interface in self.interfaces:
            if error is None and method in interface.outputs:
                interface.check(interface.outputs[method], parameters, method)
                return ""
            if error in interface.errors:
                interface.check(interface.errors[error], parameters, error)
                return error
        raise Mismatch(f"{method}: an error without a name: {message!r:.80}")
