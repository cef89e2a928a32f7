# SPDX-License-Identifier: GPL-2.0-or-later
"""Types of a varlink interface, from its text, and values held against them. Members that no type has are complaints."""
import re

TOKEN = re.compile(r"#[^\n]*|->|\[\]|\[string\]|[?(),:]|[A-Za-z_][\w.]*|\S")
PLAIN = {"bool": bool, "int": int, "string": str, "object": dict}


class Interface:
    """@types: {name: type}; @methods: {name: (input, output)}; @errors: {name: type}.

    A type is ("maybe", type), ("array", type), ("map", type), ("struct", {name: type}), ("enum", names), ("named", name)
    or ("plain", name).
    """

    def __init__(self, text):
        self.tokens = [token for token in TOKEN.findall(text) if not token.startswith("#")][::-1]
        self.types, self.methods, self.errors = {}, {}, {}
        self._expect("interface")
        self.name = self.tokens.pop()
        while self.tokens:
            self._declaration(self.tokens.pop(), self.tokens.pop())

    def _declaration(self, keyword, name):
        if keyword == "type":
            self.types[name] = self._type()
        elif keyword == "error":
            self.errors[name] = self._type()
        else:
            assert keyword == "method", keyword
            begin = self._type()
            self._expect("->")
            self.methods[name] = begin, self._type()

    def _expect(self, token):
        found = self.tokens.pop()
        assert found == token, f"{found} stands where {token} should"

    def _type(self):
        token = self.tokens.pop()
        if token == "?":
            return "maybe", self._type()
        if token in ("[]", "[string]"):
            return ("array" if token == "[]" else "map"), self._type()
        if token == "(":
            return self._members()
        return ("plain" if token in PLAIN or token == "float" else "named"), token

    def _members(self):
        members, is_enum = {}, False
        while self.tokens[-1] != ")":
            name = self.tokens.pop()
            is_enum = self.tokens[-1] != ":"
            if not is_enum:
                self._expect(":")
            members[name] = None if is_enum else self._type()
            if self.tokens[-1] == ",":
                self._expect(",")
        self._expect(")")
        return ("enum", set(members)) if is_enum else ("struct", members)

    def complaints(self, kind, value, path="reply"):
        """What of @value is not of the type @kind, as sentences."""
        form, inner = kind
        if form == "maybe":
            if value is not None:
                yield from self.complaints(inner, value, path)
        elif form == "named":
            yield from self.complaints(self.types[inner], value, path)
        elif form == "plain":
            if not is_plain(inner, value):
                yield f"{path} is no {inner}: {value!r:.80}"
        elif form == "enum":
            if value not in inner:
                yield f"{path} is none of {sorted(inner)}: {value!r:.80}"
        elif form == "array" and isinstance(value, list):
            for number, item in enumerate(value):
                yield from self.complaints(inner, item, f"{path}[{number}]")
        elif form == "map" and isinstance(value, dict):
            for name, item in value.items():
                yield from self.complaints(inner, item, f"{path}.{name}")
        elif form == "struct" and isinstance(value, dict):
            yield from self._struct(inner, value, path)
        else:
            yield f"{path} is no {form}: {value!r:.80}"

    def _struct(self, members, value, path):
        for name in value.keys() - members.keys():
            yield f"{path} has a member {name!r}, which the interface does not know"
        for name, kind in members.items():
            if name in value:
                yield from self.complaints(kind, value[name], f"{path}.{name}")
            elif kind[0] != "maybe":
                yield f"{path} has no member {name!r}"


def is_plain(name, value):
    if name == "object":  # of a type that the comment beside it tells
        return value is not None
    if name == "float":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, PLAIN[name]) and (name == "bool") == isinstance(value, bool)
