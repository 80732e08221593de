#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 8s
# strict
"""The JSON of real dumps: valid by the schema, consistent in itself, ids that can be relied on."""
import copy
import json
import os
import re

import jsonschema

from harness import PATIENT, Tap, Target, dump, snapwalk, wait_blocked

SCHEMA = os.path.join(os.path.dirname(__file__), "..", "..", "protocol", "snapwalk-dump.schema.json")


def strict(schema):
    """The schema with every field that it does not name refused: what we write must be in it."""
    if isinstance(schema, dict):
        schema = {key: strict(value) for key, value in schema.items()}
        if schema.get("type") == "object" and "properties" in schema:
            schema["additionalProperties"] = False
    elif isinstance(schema, list):
        schema = [strict(value) for value in schema]
    return schema


def validators():
    with open(SCHEMA, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return (jsonschema.Draft202012Validator(schema),
            jsonschema.Draft202012Validator(strict(schema)))


def errors(validator, report):
    return "\n".join(f"{list(e.absolute_path)}: {e.message}"
                     for e in list(validator.iter_errors(report))[:5])


def explain_validator():
    """The schema of explain, with that of dumps, which it refers to, inside."""
    with open(SCHEMA, encoding="utf-8") as file:
        dumps = json.loads(file.read().replace('"#/$defs/', '"#/$defs/dump/$defs/'))
    with open(SCHEMA.replace("-dump.", "-explain."), encoding="utf-8") as file:
        text = file.read()
    jsonschema.Draft202012Validator.check_schema(json.loads(text))
    schema = json.loads(text.replace(f"{dumps.pop('$id')}#", "#/$defs/dump"))
    thread = schema["$defs"].pop("thread")
    schema = strict(schema)  # a thread has fields of two schemas
    schema["$defs"] = {"dump": dumps, "thread": {**thread, "unevaluatedProperties": False}}
    return jsonschema.Draft202012Validator(schema)


def test_explain(tap):
    """The JSON that explain prints of an address and of each lock is valid."""
    validator = explain_validator()
    with Target("locks") as target:
        report = dump(target.pid)
        pc = next(frame["pc"] for stack in report["stacks"] for frame in stack["frames"] if frame["module"] >= 0)
        locks = sorted({t["blocked_on"]["address"] for t in report["threads"] if t.get("blocked_on", {}).get("address")})
        tap.check(locks, "explain: there are locks", report["threads"])
        for words in ([pc], *(["--lock", address] for address in locks)):
            made = json.loads(snapwalk("explain", target.pid, *words, "--json", *PATIENT).stdout)
            tap.equal(errors(validator, made), "", f"explain {words}: valid")
            part = made.get("lock", made)
            first = (part.get("waiters") or part["facts"])[0]
            first["colour"] = first.pop("functions", "red")
            tap.check(errors(validator, made), f"explain {words}: another field is not")


def references(report):
    """Returns what is wrong beyond what the schema can say, as a list."""
    wrong = []
    threads = {thread["tid"]: thread for thread in report["threads"]}
    tids = [thread["tid"] for thread in report["threads"]]
    if tids != sorted(set(tids)):
        wrong.append("threads are not in order of tid, or not distinct")
    listed = [tid for stack in report["stacks"] for tid in stack["threads"]]
    captured = [tid for tid in tids if threads[tid]["captured"]]
    if sorted(listed) != captured:
        wrong.append(f"captured threads {captured}, in stacks {sorted(listed)}")
    for index, stack in enumerate(report["stacks"]):
        for tid in stack["threads"]:
            if threads[tid]["stack"] != index:
                wrong.append(f"thread {tid} does not point back to stack {index}")
        if (stack["end"] == "complete") != (stack["why"] is None):
            wrong.append(f"stack {index}: {stack['end']} because of {stack['why']}")
        wrong += [f"stack {index}: {text}" for text in frames_wrong(report, stack["frames"])]
    sizes = [len(stack["threads"]) for stack in report["stacks"]]
    if sizes != sorted(sizes, reverse=True):
        wrong.append(f"stacks are not sorted by threads: {sizes}")
    contents = [json.dumps([s["frames"], s["end"], s["why"]]) for s in report["stacks"]]
    if len(set(contents)) != len(contents):
        wrong.append("two stacks are the same")
    used = {frame["module"] for stack in report["stacks"] for frame in stack["frames"]} - {None}
    if used != set(range(len(report["modules"]))):
        wrong.append(f"{len(report['modules'])} modules, frames in {sorted(used)}")
    starts = [int(module["start"], 16) for module in report["modules"]]
    if starts != sorted(starts):
        wrong.append("modules are not in order of address")
    return wrong


def frames_wrong(report, frames):
    for index, frame in enumerate(frames):
        if frame["module"] is None:
            if frame["offset"] is not None:
                yield f"frame {index} has an offset in no module"
        else:
            module = report["modules"][frame["module"]]
            if not int(module["start"], 16) <= int(frame["pc"], 16) <= int(module["end"], 16):
                yield f"frame {index} is not in its module"
        if (frame["function"] is None) != (frame["function_offset"] is None):
            yield f"frame {index}: function without offset"
        if frame["inlined"] and (index + 1 == len(frames) or
                                 frames[index + 1]["pc"] != frame["pc"]):
            yield f"frame {index} is inlined into nothing"
        if (index == 0) != (frame["by"] == "context") and frame["pc"] != frames[0]["pc"]:
            yield f"frame {index} comes by {frame['by']}"


def check_report(tap, report, name):
    valid, exact = validators()
    tap.equal(errors(valid, report), "", f"{name}: valid")
    tap.equal(errors(exact, report), "", f"{name}: no field that the schema does not name")
    tap.equal(references(report), [], f"{name}: consistent")


def test_schema_refuses(tap):
    """The schema is no rubber stamp."""
    with Target("chain_pie") as target:
        wait_blocked(target.pid)
        report = dump(target.pid)
    valid, exact = validators()
    tap.equal(errors(valid, report), "", "a real dump is valid")

    def broken(name, change, validator=valid):
        copied = copy.deepcopy(report)
        change(copied)
        tap.check(errors(validator, copied) != "", f"refused: {name}")

    # Members that a process with runtimes has.
    report["process"].update(
        runtimes=[{"name": "clr", "version": "10.0.0", "where": None}],
        registries=[{"name": "gdb-jit", "where": "/lib/libLLVM-15.so.1", "entries": 12}])
    report["threads"][0]["managed"] = {"runtime": "clr", "id": 7, "name": "Main",
                                       "mode": "cooperative", "role": None}
    report["warnings"].append({"code": "runtime", "tid": None, "message": "clr: no"})
    tap.equal(errors(exact, report), "", "runtimes and managed threads are valid")
    frame = lambda r: r["stacks"][0]["frames"][0]  # noqa: E731
    broken("a registry without entries", lambda r: r["process"]["registries"][0].pop("entries"))
    broken("a runtime without version", lambda r: r["process"]["runtimes"][0].pop("version"))
    broken("a managed thread without id", lambda r: r["threads"][0]["managed"].pop("id"))
    broken("a managed thread by number", lambda r: r["threads"][0].update(managed=7))
    broken("another schema", lambda r: r.update(schema="snapwalk.dump/2"))
    broken("no warnings", lambda r: r.pop("warnings"))
    broken("a number as address", lambda r: frame(r).update(pc=4096))
    broken("an address with leading zeros", lambda r: frame(r).update(pc="0x00ff"))
    broken("a trust that is not", lambda r: frame(r).update(trust="sure"))
    broken("an end that is not", lambda r: r["stacks"][0].update(end="done"))
    broken("a captured thread without stack", lambda r: r["threads"][0].update(stack=None))
    broken("a missing thread without reason", lambda r: r["threads"][0].update(
        captured=False, stack=None))
    broken("an upper-case id", lambda r: r["stacks"][0].update(id="ABCDEF0123456789"))
    broken("an unknown field, strictly", lambda r: frame(r).update(colour="red"), exact)


def test_targets(tap):
    cases = [("chain_pie", [], (0,)), ("inlines", [], (0,)), ("signals", [], (0,)),
             ("deep", [150], (0,)), ("named", [20], (0,)), ("blocking", [600000, 600000], (0, 3)),
             ("chain_stripped", [], (0,)), ("states", ["zombie_leader"], (0,))]
    for program, args, status in cases:
        with Target(program, *args) as target:
            if program not in ("states", "blocking", "named"):
                wait_blocked(target.pid)
            check_report(tap, dump(target.pid, status=status), program)


def test_options(tap):
    with Target("deep", 150) as target:
        wait_blocked(target.pid)
        report = dump(target.pid, "--depth", 10, status=(3,))
        check_report(tap, report, "--depth 10")
        tap.equal([w["code"] for w in report["warnings"]], ["frame_limit"], "--depth 10: warning")
        tap.equal(report["complete"], False, "--depth 10: not complete")
        names = dump(target.pid, "--symbols", "none")
        check_report(tap, names, "--symbols none")
        tap.check(all(f["function"] is None for s in names["stacks"] for f in s["frames"]),
                  "--symbols none: no names")
        tap.equal({m["symbols"] for m in names["modules"]}, {"none"}, "--symbols none: modules say so")
        lines = dump(target.pid)
        tap.equal([s["id"] for s in names["stacks"]], [s["id"] for s in lines["stacks"]],
                  "ids do not depend on names")
        for walk in ("tables", "scan", "libunwind"):
            check_report(tap, dump(target.pid, "--walk", walk, status=(0, 3)), f"--walk {walk}")


def test_names_are_text(tap):
    """A thread's name is any bytes: in JSON they are UTF-8, in text they steer no terminal."""
    with Target("named", 12) as target:
        wanted = {int(tid): bytes.fromhex(name).decode("utf-8", "replace")
                  for word, tid, name in ((line.split() + [""])[:3] for line in target.lines)
                  if word == "name"}
        raw = snapwalk("dump", "--json", target.pid).stdout
        tap.equal(raw.count("\n"), 1, "a dump is one line")
        got = {t["tid"]: t["comm"] for t in json.loads(raw)["threads"]}
        tap.equal({tid: got.get(tid) for tid in wanted}, wanted, "names as the program says")
        for form in ("text", "folded"):
            text = snapwalk("dump", "--format", form, target.pid).stdout
            tap.equal(re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text), [],
                      f"{form}: no control characters")


def ids_by_function(report):
    """Stack ids by the name of the function that the thread is in for."""
    return {tuple(f["function"] for f in s["frames"]): s["id"] for s in report["stacks"]}


def test_ids_are_stable(tap):
    with Target("chain_pie") as target:
        wait_blocked(target.pid)
        first, second = dump(target.pid), dump(target.pid)
    with Target("chain_pie") as target:
        wait_blocked(target.pid)
        other = dump(target.pid)
    tap.equal(ids_by_function(second), ids_by_function(first), "the same in two dumps")
    tap.equal(ids_by_function(other), ids_by_function(first), "the same in another run")
    tap.check(first["stacks"][0]["frames"][0]["pc"] != other["stacks"][0]["frames"][0]["pc"],
              "although the addresses differ")
    tap.equal(len({s["id"] for s in first["stacks"]}), len(first["stacks"]),
              "different stacks have different ids")
    tap.check(first["id"] < second["id"], "ids of dumps sort by time")


def test_depth_changes_id(tap):
    ids = []
    for depth in (3, 4, 3):
        with Target("deep", depth) as target:
            wait_blocked(target.pid)
            ids.append(dump(target.pid)["stacks"][0]["id"])
    tap.check(ids[0] != ids[1], "a call more is another id", ids)
    tap.equal(ids[2], ids[0], "the same depth is the same id")


def test_not_asked_for(tap):
    with Target("named", 5) as target:
        report = dump(target.pid, "--threads", target.pid)
        check_report(tap, report, "--threads TID")
        reasons = [t.get("reason") for t in report["threads"]]
        tap.equal(reasons, [None] + ["not_requested"] * (len(reasons) - 1), "the others say why")
        tap.check(report["complete"], "a dump of what was asked for is complete")


def property_names(schema):
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for value in schema.values():
            yield from property_names(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from property_names(value)


def words_of_enums(schema):
    if isinstance(schema, dict):
        yield from (word for word in schema.get("enum", []) if isinstance(word, str))
        for value in schema.values():
            yield from words_of_enums(value)


def test_manual(tap):
    """snapwalk-dump(5) describes every field and every value that has a meaning of its own."""
    with open(os.path.join(os.path.dirname(SCHEMA), "..", "man", "snapwalk-dump.5"),
              encoding="utf-8") as file:
        manual = set(re.findall(r"[A-Za-z0-9_]+", file.read()))
    with open(SCHEMA, encoding="utf-8") as file:
        schema = json.load(file)
    tap.equal(sorted(set(property_names(schema)) - manual), [], "the manual has every field")
    # Most reasons are the library's error codes, which are libwalk(3)'s to describe.
    schema["$defs"]["thread"]["properties"].pop("reason")
    tap.equal(sorted(set(words_of_enums(schema)) - manual), [], "the manual has every value")


if __name__ == "__main__":
    Tap.main(test_manual, test_schema_refuses, test_targets, test_options, test_names_are_text, test_ids_are_stable,
             test_depth_changes_id, test_not_asked_for, test_explain)
