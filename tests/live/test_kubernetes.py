#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
"""Chart, manifest and image: the capabilities that they give are those with which a capture works, and no others."""
import json
import os
import re
import shutil
import subprocess

from harness import PATIENT, SNAPWALK, Tap, Target

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
CHART = os.path.join(ROOT, "packaging/chart")
MANIFEST = os.path.join(ROOT, "packaging/kubernetes/snapwalk.yaml")
CAPABILITIES = ["BPF", "PERFMON", "SYS_PTRACE", "DAC_READ_SEARCH"]


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def given(tap):
    values = re.search(r"^capabilities: \[(.*)\]$", text_of(f"{CHART}/values.yaml"), re.M).group(1).split(", ")
    tap.equal(values, CAPABILITIES, "the chart's capabilities")
    manifest = text_of(MANIFEST)
    added = re.search(r"\n +add:\n((?: +- \w+\n)+)", manifest).group(1)
    tap.equal(re.findall(r"- (\w+)", added), CAPABILITIES, "the manifest's capabilities")
    for line in ("hostPID: true", "drop: [ALL]", "readOnlyRootFilesystem: true", "allowPrivilegeEscalation: false",
                 "automountServiceAccountToken: false"):
        tap.check(re.search(rf"^ *{re.escape(line)}$", manifest, re.M), f"the manifest has {line}")
    debug = text_of(os.path.join(ROOT, "packaging/kubernetes/debug.yaml"))
    tap.equal(re.search(r"\n +drop: \[ALL\]\n +add: \[(.*)\]\n", debug).group(1).split(", "), CAPABILITIES,
              "those of a debug container")
    tap.check("privileged" not in manifest + debug, "the manifest is not privileged")
    image = text_of(os.path.join(ROOT, "Containerfile"))
    tap.equal(re.search(r"--cap-add (\S+)", image).group(1).upper().split(","), ["SYS_PTRACE", "BPF", "PERFMON",
              "DAC_READ_SEARCH"], "the image's page says the same ones")
    version = re.search(r"^VERSION *:= (\S+)", text_of(os.path.join(ROOT, "Makefile")), re.M).group(1)
    for path, pattern in ((f"{CHART}/Chart.yaml", rf'^version: {version}\nappVersion: "{version}"$'),
                          (MANIFEST, rf'^ +image: "localhost/snapwalk:{version}"$'),
                          (os.path.join(ROOT, "Containerfile"), rf"^ARG VERSION={version}$"),
                          (os.path.join(ROOT, "docs/kubernetes.md"), rf"^podman push REGISTRY/snapwalk:{version}$"),
                          (os.path.join(ROOT, "docs/kubernetes.md"), rf"^\t--image=REGISTRY/snapwalk:{version} "),
                          (os.path.join(ROOT, "packaging/arch/PKGBUILD"), rf"^pkgver={version}$")):
        tap.check(re.search(pattern, text_of(path), re.M), f"{os.path.relpath(path, ROOT)}: the version of make")


def schema(tap):
    """Each value has its place in the schema, and the other way round."""
    names = set(re.findall(r"^(\w+):", text_of(f"{CHART}/values.yaml"), re.M))
    known = set(json.loads(text_of(f"{CHART}/values.schema.json"))["properties"])
    tap.equal(known - {"global"}, names, "values.schema.json has the values")
    used = set()
    for name in os.listdir(f"{CHART}/templates"):
        used |= set(re.findall(r"\.Values\.(\w+)", text_of(f"{CHART}/templates/{name}")))
    tap.equal(used, names, "the templates use each value")


def templates(tap):
    helm = shutil.which(os.environ.get("HELM", "helm"))
    if helm is None:
        tap.skip("helm lint and template", "helm is not there", "helm, by PATH or HELM=FILE")
        return
    done = subprocess.run([helm, "lint", "--strict", CHART], capture_output=True, text=True)
    tap.equal(done.returncode, 0, "helm lint")
    done = subprocess.run([helm, "template", "snapwalk", CHART], capture_output=True, text=True)
    made = re.sub(r"^# Source.*\n", "", done.stdout, flags=re.M)
    tap.equal(made, text_of(MANIFEST).split("\n", 2)[2], "the manifest is what the chart makes of its defaults")
    for wrong in ("capabilities={BPF}", "image.digest=abc", "hostDirectory=relative", "nosuch=1"):
        done = subprocess.run([helm, "template", "snapwalk", CHART, "--set", wrong], capture_output=True, text=True)
        tap.check(done.returncode != 0 and "schema" in done.stderr, f"helm template refuses {wrong}", done.stderr)


def dump(target, capabilities):
    """As in the pod: root with capabilities and nothing else, with the pids of the node and namespaces of its own."""
    bounding = ",".join(["-all"] + [f"+{name.lower()}" for name in capabilities])
    return subprocess.run(["unshare", "--mount", "--uts", "--ipc", "--net", "setpriv", f"--bounding-set={bounding}",
                           "--no-new-privs", SNAPWALK, "dump", "--json", *PATIENT, str(target.pid)],
                          capture_output=True, text=True, timeout=120)


def enough(tap):
    if os.geteuid() != 0:
        tap.skip("a capture with four capabilities", "only root has them to give", Tap.ROOT)
        return
    # The target is another user's: the program's files are read by DAC_READ_SEARCH.
    with Target("chain_pie", user=65534, group=65534, extra_groups=[]) as target:
        os.chmod(os.path.dirname(target.command[0]), 0o700)
        os.chown(os.path.dirname(target.command[0]), 65534, 65534)
        done = dump(target, CAPABILITIES)
        if "unshare failed" in done.stderr:
            tap.skip("a capture with four capabilities", "no namespaces can be made", "root outside of a container")
            return
        tap.equal((done.returncode, done.stderr), (0, ""), "with the four capabilities: complete")
        report = json.loads(done.stdout)
        tap.check(any(f["function"] and f["line"] for s in report["stacks"] for f in s["frames"] if f["module"] == 0),
                  "with names and lines of another user's program", done.stdout)
        done = dump(target, [name for name in CAPABILITIES if name != "SYS_PTRACE"])
        tap.equal(done.returncode, 77, "without SYS_PTRACE: not permitted")


if __name__ == "__main__":
    Tap.main(given, schema, templates, enough)
