# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Wines that check-runtimes looks at: Debian 12's own, and in root directories of their own that are
made below the build folder Debian 13's, and Debian 12's for 32-bit programs. Each has its prefix there, no display and one server, which
alone is told to end.

    with Wine("10") as wine, wine.program("wine_threads.exe") as target:
        ...                                   target.pid is the Windows program
"""
import os
import shutil
import subprocess

from harness import BUILD, TARGETS, Target

CHROOT_SH = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets", "wine",
                         "chroot.sh")
LOADER = "/usr/lib/wine/wine64"
VERSIONS = ("8", "10")
# The arguments of chroot.sh, which makes the root directories.
ROOTS = {"10": ("trixie", "amd64"), "8-i386": ("bookworm", "i386"), "10-i386": ("trixie", "i386")}


class Wine:
    def __init__(self, version):
        self.version = version
        self.root = "" if version == "8" else os.path.join(BUILD, f"wine-{version}")
        self.is_32bit = version.endswith("-i386")
        self.loader = "/usr/lib/wine/wine" if self.is_32bit else LOADER
        self.server = "/usr/lib/wine/" + ("wineserver32" if self.is_32bit else "wineserver64")
        self.shared = os.path.join(BUILD, "wine-8") if version == "8" else f"{self.root}/test"
        prefix = os.path.join(self.shared, "prefix")
        self.environment = dict(
            {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "XDG_RUNTIME_DIR")},
            WINEPREFIX=self.inside(prefix), WINEDEBUG="-all", WINEDLLOVERRIDES="mscoree,mshtml=")

    def inside(self, path):
        """The path as the programs see it."""
        return path[len(self.root):]

    def command(self, *words):
        """Words to run in the root directory, with its own /proc. The process stays the same."""
        if not self.root:
            return list(words)
        return ["unshare", "-m", "sh", "-c",
                'mount -t proc proc "$0/proc" && cd / && exec chroot "$0" "$@"', self.root, *words]

    def run(self, *words):
        return subprocess.run(self.command(*words), env=self.environment, check=True, timeout=300,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        if self.root:
            subprocess.run([CHROOT_SH, self.root, *ROOTS[self.version]], check=True)
        os.makedirs(os.path.join(self.shared, "prefix"), exist_ok=True)  # the server makes none
        # Processes that still run here are of a test that was cut off.
        subprocess.run(self.command(self.server, "-k"), env=self.environment, check=False,
                       stderr=subprocess.DEVNULL)
        self.run(self.server, "-p")
        try:
            self.run(self.loader, "wineboot", "-i")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc):
        self.run(self.server, "-k")

    def program(self, name, *args):
        """Starts a target. The server runs already, so that what is in the environment for the
        target is so for nothing else."""
        path = shutil.copy(os.path.join(TARGETS, name), self.shared)
        fifo = os.path.join(self.shared, "fifo")
        if not os.path.exists(fifo):
            os.mkfifo(fifo)
        # A file that the C library's resolver opens: it waits there for somebody to write.
        environment = dict(self.environment, HOSTALIASES=self.inside(fifo))
        first, *rest = self.command(self.loader, self.inside(path), *map(str, args))
        return Target(name, *rest, path=first, env=environment, stderr=subprocess.DEVNULL)
