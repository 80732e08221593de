#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""packaging/sbom.py VERSION DATE SOURCES PROGRAM: the bill of materials of a release in JSON of SPDX 2.3, on standard
output: the two archives with their checksums, and what is linked into the static file, by the versions of this machine.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
import time

# Name, package of pkg-config or None, package of Debian, licence.
LINKED = (
    ("elfutils", "libdw", "libdw-dev", "LGPL-3.0-or-later OR GPL-2.0-or-later"),
    ("json-c", "json-c", "libjson-c-dev", "MIT"),
    ("xxhash", "libxxhash", "libxxhash-dev", "BSD-2-Clause"),
    ("libdeflate", "libdeflate", "libdeflate-dev", "MIT"),
    ("liblzma", "liblzma", "liblzma-dev", "NOASSERTION"),
    ("zstd", "libzstd", "libzstd-dev", "BSD-3-Clause OR GPL-2.0-only"),
    ("zlib", "zlib", "zlib1g-dev", "Zlib"),
    ("bzip2", None, "libbz2-dev", "bzip2-1.0.6"),
    ("libiberty", None, "libiberty-dev", "LGPL-2.0-or-later"),
    ("glibc", None, "libc6-dev", "LGPL-2.1-or-later"),
)
OURS = "LGPL-2.1-or-later"


def said(*command):
    try:
        result = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""


def version_of(module, package):
    return (module and said("pkg-config", "--modversion", module)) or \
        said("dpkg-query", "-W", "-f", "${Version}", package) or "NOASSERTION"


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def package(name, version, licence, path=None):
    what = {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]", "-", name), "name": name, "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "licenseDeclared": licence, "copyrightText": "NOASSERTION"}
    if path is not None:
        what["packageFileName"] = os.path.basename(path)
        what["checksums"] = [{"algorithm": "SHA256", "checksumValue": sha256(path)}]
    return what


def main():
    version, date, sources, program = sys.argv[1:]
    first = package("snapwalk-sources", version, OURS, sources)
    second = package("snapwalk", version, OURS, program)
    linked = [package(name, version_of(module, debian), licence) for name, module, debian, licence in LINKED]
    of = [("SPDXRef-DOCUMENT", "DESCRIBES", first), ("SPDXRef-DOCUMENT", "DESCRIBES", second),
          (second["SPDXID"], "GENERATED_FROM", first)]
    of += [(second["SPDXID"], "STATIC_LINK", each) for each in linked]
    packages = [first, second, *linked]
    digest = second["checksums"][0]["checksumValue"]
    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"snapwalk-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/snapwalk-{version}-{digest[:32]}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(date))),
                         "creators": ["Tool: snapwalk-sbom"]},
        "packages": packages,
        "relationships": [{"spdxElementId": a, "relationshipType": how, "relatedSpdxElement": b["SPDXID"]}
                          for a, how, b in of]}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
