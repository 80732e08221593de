# SPDX-License-Identifier: LGPL-2.1-or-later
"""The rules of OpenTelemetry's profiles, as its definition states them: profiles.proto of opentelemetry-proto (v1development)
and specification/profiles/mappings.md of opentelemetry-specification. problems() lists what a file breaks. It decodes the
bytes itself, so that it needs neither protoc nor a generated module.
"""
import struct

VARINT, FIXED64, BYTES = 0, 1, 2
# Types that engines show as CPU time and as time off the CPU, and the type of our own: (type, unit, period type, period unit).
TYPES = (("samples", "count", "cpu", "nanoseconds"), ("off_cpu", "nanoseconds", "", ""), ("wall", "nanoseconds", "", ""))
IDENTITIES = ("process.executable.build_id.gnu", "process.executable.build_id.go", "process.executable.build_id.htlhash")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def decoded(data):
    """The fields of a message: lists of values by number."""
    fields, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, at = varint(data, at)
        elif kind == FIXED64:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif kind == BYTES:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                raise ValueError("a field is cut")
        else:
            raise ValueError(f"a field of kind {kind}")
        fields.setdefault(number, []).append(value)
    return fields


def one(fields, number, default=0):
    return fields.get(number, [default])[-1]


def packed(fields, number):
    values = []
    for data in fields.get(number, []):
        if isinstance(data, int):
            values.append(data)
            continue
        at = 0
        while at < len(data):
            value, at = varint(data, at)
            values.append(value)
    return values


class Checker:
    """A checker of a file. Tables: what is used of each."""
    TABLES = {"mapping": 1, "location": 2, "function": 3, "link": 4, "string": 5, "attribute": 6, "stack": 7}

    def __init__(self, data):
        self.problems = []
        self.resources = []  # attributes of each
        self.types = []
        message = decoded(data)
        dictionary = decoded(one(message, 2, b""))
        self.tables = {name: dictionary.get(number, []) for name, number in self.TABLES.items()}
        self.used = {name: {0} for name in self.TABLES}
        for name, table in self.tables.items():
            if not table or table[0] != b"":
                self.say(f"entry 0 of {name}_table is not the empty one")
            if len(set(table)) != len(table):
                self.say(f"an entry of {name}_table comes twice")
        for resource in message.get(1, []):
            self.resource(decoded(resource))
        self.everything_used()

    def say(self, what):
        if what not in self.problems:
            self.problems.append(what)

    def use(self, name, index):
        """The entry of a table. The first use of each leads on to what it refers to itself."""
        if index >= len(self.tables[name]):
            self.say(f"an index of {name}_table is {index}, of {len(self.tables[name])}")
            return b""
        if index not in self.used[name]:
            self.used[name].add(index)
            getattr(self, f"use_{name}", lambda fields: None)(decoded(self.tables[name][index]) if name != "string" else None)
        return self.tables[name][index]

    def text(self, index):
        return self.use("string", index).decode()

    def use_mapping(self, fields):
        self.text(one(fields, 4))
        keys = self.attributes(packed(fields, 5))
        if not set(keys) & set(IDENTITIES):
            self.say(f"mapping {self.text(one(fields, 4))} has neither a build-id nor a hash")
        if one(fields, 1) > one(fields, 2):
            self.say("a mapping ends before it begins")

    def use_location(self, fields):
        self.use("mapping", one(fields, 1))
        for line in map(decoded, fields.get(3, [])):
            if one(line, 1) == 0:
                self.say("a line without a function")
            self.use("function", one(line, 1))
        self.attributes(packed(fields, 4))

    def use_function(self, fields):
        for number in (1, 2, 3):
            self.text(one(fields, number))

    def use_stack(self, fields):
        places = packed(fields, 1)
        if not places or 0 in places:
            self.say("a stack without locations, or with the empty one")
        for index in places:
            self.use("location", index)

    def attributes(self, indices):
        keys = []
        for index in indices:
            if index == 0:
                self.say("the empty attribute is used")
            fields = decoded(self.use("attribute", index))
            keys.append(self.text(one(fields, 1)))
            if not decoded(one(fields, 2, b"")):
                self.say(f"attribute {keys[-1]} has no value")
        if len(set(keys)) != len(keys):
            self.say(f"an attribute comes twice: {keys}")
        return keys

    def resource(self, fields):
        attributes = {}
        for pair in map(decoded, decoded(one(fields, 1, b"")).get(1, [])):
            value = decoded(one(pair, 2, b""))
            key = one(pair, 1, b"").decode()
            if key in attributes:
                self.say(f"the resource has {key} twice")
            attributes[key] = value[1][0].decode() if 1 in value else one(value, 3)
        self.resources.append(attributes)
        for key in ("service.name", "process.pid"):
            if key not in attributes:
                self.say(f"the resource has no {key}")
        scopes = [decoded(scope) for scope in fields.get(2, [])]
        for holder in (fields, *scopes):
            if not one(holder, 3, b"").startswith(b"https://opentelemetry.io/schemas/1."):
                self.say("no schema_url")
        for scope in scopes:
            if not one(decoded(one(scope, 1, b"")), 1, b""):
                self.say("the scope has no name")
            profiles = [self.profile(decoded(profile)) for profile in scope.get(2, [])]
            if len(set(profiles)) != len(profiles):
                self.say(f"several profiles of one type: {profiles}")

    def profile(self, fields):
        words = []
        for number in (1, 5):
            value_type = decoded(one(fields, number, b""))
            words += [self.text(one(value_type, 1)), self.text(one(value_type, 2))]
        words = tuple(words)
        self.types.append(words)
        if words not in TYPES:
            self.say(f"a type that engines do not know: {words}")
        if (one(fields, 6) > 0) != (words[2] != ""):
            self.say("a period without its type, or a type without its period")
        if one(fields, 3) == 0:
            self.say("a profile without a time")
        for sample in map(decoded, fields.get(2, [])):
            values, times = packed(sample, 4), [x for x in sample.get(5, [])]
            if not values and not times or values and times:
                self.say("a sample has values and times, or none of both")
            if any(value == 0 for value in values) or len(values) > 1:
                self.say("a sample of nothing, or of several values")
            if one(sample, 1) == 0:
                self.say("a sample without a stack")
            self.use("stack", one(sample, 1))
            self.attributes(packed(sample, 2))
            self.use("link", one(sample, 3))
        return words

    def everything_used(self):
        for name, table in self.tables.items():
            unused = [i for i in range(len(table)) if i not in self.used[name]]
            if unused:
                self.say(f"{len(unused)} entries of {name}_table are referenced by nothing: "
                         f"{[bytes(table[i])[:40] for i in unused[:4]]}")


def check(data):
    """A Checker, whose problems are what the file breaks."""
    return Checker(data)
