#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""Targets whose files are elsewhere, gone, replaced or oddly named; callers without privileges."""
import os
import shutil
import subprocess
import tempfile

from harness import (PATIENT, SNAPWALK, TARGETS, Tap, Target, errors_of, no_mounts, public, state_of, tool,
                     wait_until)
from safety import capture as capture_now
from safety import frames_of, functions, held, parse, run, tasks, thread_of

STATES = os.path.join(TARGETS, "states")
WITHOUT = os.path.join(TARGETS, "without")
NOBODY = 65534


def capture(pid, *args, **more):
    """The dump of a process whose threads have all come to rest."""
    wait_until(lambda: {state_of(pid, tid) for tid in tasks(pid)} == {"S"}, "all threads to wait")
    return capture_now(pid, *args, **more)


def whole(tap, report, what, named="wait_forever"):
    """All threads captured, complete, and the program's own function named."""
    ends = {s["end"] for s in report["stacks"]}
    tap.equal(ends, {"complete"}, f"{what}: every stack is complete")
    waiting = [t["tid"] for t in report["threads"] if t["tid"] != report["process"]["pid"]]
    tap.check(waiting and all(named in functions(report, tid) for tid in waiting),
              f"{what}: functions are named", [functions(report, tid) for tid in waiting])


def deleted_modules(report):
    return [m["path"] for m in report["modules"] if m.get("deleted")]


def pid_and_mount_namespace(tap, scratch):
    """The program is a file that exists only on a tmpfs in there."""
    if no_mounts():
        tap.skip("namespaces", no_mounts(), tap.MOUNTS)
        return
    hidden = os.path.join(scratch, "hidden")
    os.mkdir(hidden)
    script = (f"mount -t tmpfs none {hidden} && cp {STATES} {hidden}/inner && "
              f"exec {hidden}/inner plain 2")
    with Target(None, "-p", "-m", "-f", "--kill-child", "--mount-proc", "sh", "-c", script,
                path="/usr/bin/unshare") as target:
        with open(f"/proc/{target.pid}/task/{target.pid}/children") as children:
            inner = int(children.read().split()[0])
        report = capture(inner, status=(0,))
        # The kernel's words: for a test in a changed root they begin outside of it.
        exe = os.readlink(f"/proc/{inner}/exe")
        tap.check(exe.endswith(f"{hidden}/inner"), "namespace: the process runs the hidden file", exe)
        tap.equal(report["process"]["exe"], exe, "namespace: path as seen inside")
        tap.check(not os.path.exists(f"{hidden}/inner"), "namespace: the file is not visible outside")
        tap.equal(sorted(t["tid"] for t in report["threads"]), sorted(tasks(inner)),
                  "namespace: thread ids as seen outside")
        whole(tap, report, "namespace")
        tap.equal(held(inner), [], "namespace: nothing held")


def copy_with_libraries(root, program):
    """A root directory with the program as /program and the libraries it needs."""
    listing = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    for word in listing.split():
        if word.startswith("/"):
            os.makedirs(root + os.path.dirname(word), exist_ok=True)
            shutil.copy(word, root + word)
    shutil.copy(program, f"{root}/program")


def changed_root(tap, scratch):
    if os.geteuid() != 0:
        tap.skip("changed root", "not root", tap.ROOT)
        return
    root = os.path.join(scratch, "root")
    os.mkdir(root)
    copy_with_libraries(root, STATES)
    with Target(None, root, "/program", "plain", 2, path="/usr/sbin/chroot") as target:
        report = capture(target.pid, status=(0,))
        whole(tap, report, "changed root")
        program = [m for m in report["modules"] if m["path"].endswith("/program")]
        tap.equal([(m["symbols"], m.get("deleted")) for m in program], [("dwarf", None)],
                  "changed root: the program's file was found and used")


def changed_root_elsewhere(tap, scratch):
    """In a mount namespace of its own, and seen without what /proc/PID/map_files asks for, as from a container."""
    if no_mounts() or tool("setpriv") is None:
        tap.skip("changed root elsewhere", no_mounts() or "no setpriv", tap.MOUNTS if no_mounts() else "package util-linux")
        return
    root, hidden = os.path.join(scratch, "files"), os.path.join(scratch, "elsewhere")
    os.mkdir(root)
    os.mkdir(hidden)
    copy_with_libraries(root, STATES)
    script = f"mount -t tmpfs none {hidden} && cp -a {root}/. {hidden} && exec chroot {hidden} /program plain 2"
    with Target(None, "-m", "sh", "-c", script, path="/usr/bin/unshare") as target:
        wait_until(lambda: {state_of(target.pid, tid) for tid in tasks(target.pid)} == {"S"}, "all threads to wait")
        _, out, _, _ = run("dump", "--json", *PATIENT, target.pid, command=[
            "setpriv", "--bounding-set=-all,+sys_ptrace,+bpf,+perfmon,+dac_read_search", SNAPWALK])
        report = parse(out)
        whole(tap, report, "changed root elsewhere")
        program = [m for m in report["modules"] if m["path"].endswith("/program")]
        tap.equal([(m["symbols"], m.get("deleted")) for m in program], [("dwarf", None)],
                  "changed root elsewhere: the program's file was found and used")


def replaced_file(tap, scratch):
    """As a package upgrade does it: another file takes the name."""
    path = os.path.join(scratch, "upgraded")
    shutil.copy(STATES, path)
    with Target(None, "plain", 2, path=path) as target:
        before = frames_of(capture(target.pid, status=(0,)))
        shutil.copy("/bin/true", path + ".new")
        os.rename(path + ".new", path)
        report = capture(target.pid, status=(0,))
        tap.equal(frames_of(report), before, "replaced program: same stacks as before")
        tap.equal(deleted_modules(report), [path], "replaced program: marked as deleted")
        os.unlink(path)
        report = capture(target.pid, status=(0,))
        tap.equal(frames_of(report), before, "deleted program: same stacks as before")
        tap.equal(report["process"]["exe"], path, "deleted program: its name is shown as it was")


def really_named_deleted(tap, scratch):
    """A file whose true name ends as the kernel marks deleted ones."""
    path = os.path.join(scratch, "program (deleted)")
    shutil.copy(STATES, path)
    with Target(None, "plain", 2, path=path) as target:
        report = capture(target.pid, status=(0,))
        whole(tap, report, "named ' (deleted)'")
        tap.equal(deleted_modules(report), [], "named ' (deleted)': it is not taken for deleted")
        tap.check(path in [m["path"] for m in report["modules"]],
                  "named ' (deleted)': the whole name is shown",
                  [m["path"] for m in report["modules"]])


def libc_directory(scratch, name):
    """A directory with a copy of libc, and its path."""
    listing = subprocess.run(["ldd", STATES], capture_output=True, text=True, check=True).stdout
    libc = next(word for word in listing.split() if word.startswith("/") and "libc.so" in word)
    directory = os.path.join(scratch, name)
    os.mkdir(directory)
    os.chmod(directory, 0o755)
    return directory, shutil.copy(libc, directory)


def deleted_library(tap, scratch, user):
    who = "root" if user is None else "another user"
    directory, libc = libc_directory(scratch, f"lib-{user}")
    environment = dict(os.environ, LD_LIBRARY_PATH=directory)
    target_user = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    with Target(None, "plain", 2, path=shutil.copy(STATES, directory), env=environment,
                **target_user) as target:
        before = capture(target.pid, status=(0,), **as_user(user))
        os.unlink(libc)
        report = capture(target.pid, status=(0, 3), **as_user(user))
        whole(tap, report, f"deleted library, {who}")
        tap.equal(frames_of(report, ("pc", "trust")), frames_of(before, ("pc", "trust")),
                  f"deleted library, {who}: same frames, found by the same means")
        tap.equal(deleted_modules(report), [libc], f"deleted library, {who}: marked as deleted")


def as_user(user):
    """Arguments for run(): snapwalk under another uid."""
    if user is None:
        return {}
    return {"command": [public(SNAPWALK)], "user": user, "group": user, "extra_groups": []}


def without_privileges(tap):
    if os.geteuid() != 0:
        tap.skip("another user", "not root", tap.ROOT)
        return
    nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    with Target("states", "plain", 3, **nobody) as target:
        report = capture(target.pid, status=(0,), **as_user(NOBODY))
        whole(tap, report, "same user")
        tap.equal(frames_of(report), frames_of(capture(target.pid, status=(0,))),
                  "same user: the same dump as root's")
    with Target("states", "undumpable", **nobody) as target:
        refused(tap, target.pid, "undumpable")
        report = capture(target.pid, status=(0,))
        tap.check(thread_of(report, target.pid)["captured"], "undumpable: root captures it")
    with Target("states", "plain", 1) as target:
        refused(tap, target.pid, "root's process")


def refused(tap, pid, what):
    code, out, err, _ = run("dump", "--json", pid, **as_user(NOBODY))
    tap.equal((code, out), (77, ""), f"{what}: another user gets exit status 77, no output")
    tap.equal([(one["about"], one["code"]) for one in errors_of(err)], [(str(pid), "not_permitted")],
              f"{what}: one clear line")
    tap.equal(held(pid), [], f"{what}: nothing held")


def denied_to_root(tap):
    """The obstacle in root's way is named: a capability, or a user namespace that the process is outside of."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-Ur", "true"], capture_output=True).returncode != 0:
        tap.skip("what stands in root's way", "not root, or no user namespaces", tap.ROOT)
        return
    with Target("states", "plain", 1) as target:
        for how, prefix, words in (
                ("no capability", ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"],
                 "we are root without the capability SYS_PTRACE (container?)"),
                ("root of a namespace", ["unshare", "-Ur"], "we are root of a user namespace, and the process does not "
                 "belong to it, or a security module denies it"),
                ("a filter", [WITHOUT, "ptrace=EPERM", "--"],
                 "a security module or a system call filter refuses it, although we are root")):
            code, out, err, _ = run("dump", "--stop", "always", target.pid, command=[*prefix, public(SNAPWALK)])
            tap.equal((code, out, words in err), (77, "", True), f"{how}: the obstacle is named")
        # The namespace's root traces what belongs to it.
        script = f"sleep 100 & {public(SNAPWALK)} dump {' '.join(PATIENT)} $!; status=$?; kill $!; exit $status"
        done = subprocess.run(["unshare", "-Ur", "sh", "-c", script], capture_output=True, text=True)
        tap.equal((done.returncode, "sleep" in done.stdout), (0, True), "in its own namespace root captures")


ODD_PATHS = ("with space", "new\nline", "esc\x1b[31m", "quote\"back\\slash", "bytes\udcff\udcfe",
             "tab\tbell\a", "o\\012ctal", "u\u0308ml\u00e4ut")


def odd_paths(tap, scratch):
    for name in ODD_PATHS:
        path = os.path.join(scratch, name)
        shutil.copy(STATES, path)
        with Target(None, "plain", 2, path=path) as target:
            report = capture(target.pid, status=(0,))  # parse() refuses control characters
            whole(tap, report, f"path {name!r}")
            if "\udcff" not in name:
                tap.check(path in [m["path"] for m in report["modules"]],
                          f"path {name!r}: shown as it is", [m["path"] for m in report["modules"]])
            tap.check(clean(run("dump", target.pid)[1]), f"path {name!r}: text without controls")
        os.unlink(path)


def clean(text):
    return all(c == "\n" or 0x20 <= ord(c) < 0x7f or ord(c) >= 0xa0 for c in text)


def odd_thread_names(tap):
    with Target("states", "odd_names") as target:
        report = capture(target.pid, status=(0,))
        names = {t["comm"] for t in report["threads"]}
        wanted = {"new\nline", "\x1b[31mred\x1b[0m", "qu\"ote\\", "tab\tbell\a", "a) R 1 2"}
        tap.equal(wanted - names, set(), "odd thread names: exact in JSON")
        tap.check(any("\ufffd" in name for name in names),
                  "odd thread names: bytes that are no UTF-8 are replaced", names)
        tap.equal(report["process"]["comm"], "lead\"er\n) Z 1", "odd process name: exact in JSON")
        tap.equal({t["state"] for t in report["threads"]}, {"S"},
                  "odd thread names: states are not misread")
        for arguments in ([], ["--no-group"], ["-v"], ["--format", "folded"]):
            code, out, err, _ = run("dump", *PATIENT, *arguments, target.pid)
            tap.check(code == 0 and clean(out) and clean(err),
                      f"odd thread names: no control characters in text {arguments}", repr(out))
        code, out, err, _ = run("dump", "--json", target.pid)
        tap.check(parse(out), "odd thread names: JSON is valid")


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="snapwalk-test-") as scratch:
        os.chmod(scratch, 0o755)
        for test in (pid_and_mount_namespace, changed_root, changed_root_elsewhere, replaced_file,
                     really_named_deleted, odd_paths):
            tap.guard(test, scratch)
        tap.guard(deleted_library, scratch, None)
        if os.geteuid() == 0:
            tap.guard(deleted_library, scratch, NOBODY)
    tap.guard(without_privileges)
    tap.guard(denied_to_root)
    tap.guard(odd_thread_names)
    tap.check(tool("unshare"), "unshare is there")
    tap.done()


if __name__ == "__main__":
    main()
