# SPDX-License-Identifier: LGPL-2.1-or-later
"""The judge of all tests that look at a process at random instants.

    with Judge(tap, "php.busy", "JIT tracing") as judge:
        for look in judge.looks(pid, STOPS):       # look.report is the dump
            judge.right(look)                      # for each stack of it one of these three
            judge.cut(look, "memory: ...")         # it is not whole, or guessed, and says so itself
            judge.wrong(look, "f5 calls f2")       # it has a frame that is not, and does not say so

An instant never comes back, so each look is a dump with its snapshot (dump --keep). Those that are right are deleted.
Others are kept in $SNAPWALK_EVIDENCE (build/evidence) as NAME/<number>/: `dump.json`, `snapshot`, which
`snapwalk dump --fixture` walks again, `why`, and `about.json` (seed, load, stolen time, versions). They share modules/.
Of each name and kind the last KEPT_MAX are kept. A look that was made elsewhere is judge.look(report, evidence): a
text, or a function that writes into the folder it is given. judge.series() is for hundreds of looks.

How many may be wrong or cut is no feeling but a statistic. What is counted is looks: the stacks of one look have what
went wrong at its instant in common, and are no independent trials. A look is bad with one stack that is. tests/rates.tsv
says for a name and kind how many were bad of how many looks, in all runs so far. What is known of the rate is then a beta
distribution with the mean (bad + 1) / (looks + prior). The prior stands for looks that nobody made: 1000 for `cut`, 10000
for `wrong`, so that without a row rates of 1 in 1000 and 1 in 10000 are expected; and looks / bad where that is less, so
that a row with a higher rate says just that one. The number of bad ones in n looks has a beta-binomial distribution, which
is the binomial one with the doubt about the rate in it: with few looks behind it a limit is wide, with 100,000 it is
sharp. The check fails if k or more bad ones would be met in fewer than one of 1,000,000 runs (LIMIT), so that 1000 such
checks fail by chance in one of 1000 runs. With 240 looks it fails from 9 cut or 4 wrong ones on when nothing is known,
and from 3 of either when none of 100,000 was bad.

What passes is not forgotten: wrong looks, however few, and more cut ones than 99 of 100 runs have, make a line
"# rare: NAME KIND K of N: REASON; evidence FOLDER" behind the check's, which tests/run.py reads. A check that passes
also prints "# rate: NAME KIND BAD LOOKS", which `make soak` adds to tests/rates.tsv.

SNAPWALK_LOOKS_FACTOR=N makes N times as many looks (scaled()), for the soak.
"""
import contextlib
import json
import math
import os
import platform
import re
import shutil
import subprocess
import tempfile

from harness import BUILD, PATIENT, SNAPWALK, TARGETS, snapwalk, stolen_s

RATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "rates.tsv")
PRIORS = {"wrong": 10000, "cut": 1000}  # looks that stand for what is expected of a name without a row
LIMIT = 1e-6
UNUSUAL = 0.01  # of `cut`: what is told though it passes
KEPT_MAX = 20
GUESSES = {"scan", "scan_verified", "frame_pointer"}


def scaled(n):
    """How many looks are made where a test asks for n."""
    return n * int(os.environ.get("SNAPWALK_LOOKS_FACTOR", "1"))


def read_rates(path=RATES):
    """{(name, kind): (bad, looks)}"""
    rates = {}
    with open(path) as file:
        for line in file:
            if line.startswith("#") or not line.strip():
                continue
            name, kind, bad, looks, _since, _ledger = line.rstrip("\n").split("\t")
            if kind not in PRIORS or (name, kind) in rates or not 0 <= int(bad) <= int(looks):
                raise ValueError(f"{path}: {line}")
            rates[name, kind] = (int(bad), int(looks))
    return rates


def prior_of(kind, bad, looks):
    return min(PRIORS[kind], looks / bad) if bad else PRIORS[kind]


def tail(k, n, bad, looks, prior):
    """The probability of k or more bad ones among n, after bad ones among looks."""
    a, b = bad + 1, looks - bad + prior - 1

    def beta(x, y):
        return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)
    if k <= 0:
        return 1.0
    total = 0.0
    for x in range(k, n + 1):
        term = math.exp(math.lgamma(n + 1) - math.lgamma(x + 1) - math.lgamma(n - x + 1) + beta(x + a, n - x + b) - beta(a, b))
        total += term
        if term < total * 1e-12:  # from here on they are smaller and smaller
            break
    return min(total, 1.0)


def cut_in_stack(stack):
    """Returns what the stack itself says that it lacks: it is cut, or guessed; None when it says nothing."""
    if stack["end"] != "complete":
        return f"{stack['end']}: {stack['why']}"
    return "a guess" if any(f["trust"] in GUESSES for f in stack["frames"]) else None


class Look:
    """A dump, its text and the folder of its snapshot, which is None where the look was made elsewhere."""

    def __init__(self, report, text=None, snapshot=None, evidence=None):
        self.report, self.text, self.snapshot, self.evidence = report, text, snapshot, evidence
        self.judged, self.bad = False, []  # of its stacks: (kind, why)


class Judge:
    def __init__(self, tap, name, about="", root=None, rates=None):
        """name: a row of tests/rates.tsv, and a folder. about: which of several that share it, as a version."""
        self.tap, self.name, self.about = tap, name, about
        self.root = root or os.environ.get("SNAPWALK_EVIDENCE", os.path.join(BUILD, "evidence"))
        self.rates = read_rates() if rates is None else rates
        self.stacks, self.n, self.current = 0, 0, None
        self.whys = {kind: [] for kind in PRIORS}  # of each bad look the first
        self.kept = {kind: [] for kind in PRIORS}  # folders of this run

    def __enter__(self):
        if not re.fullmatch(r"[\w.-]*\w", self.name):
            raise ValueError(self.name)
        self.folder, self.store = os.path.join(self.root, self.name), os.path.join(self.root, "modules")
        os.makedirs(self.folder, exist_ok=True)
        self.temporary = tempfile.mkdtemp(prefix=".looks-", dir=self.folder)
        self.stolen_s = stolen_s()
        return self

    # ---- looks ----

    def looks(self, pid, n=None, *args, status=(0, 3)):
        """n dumps, more with SNAPWALK_LOOKS_FACTOR; without n until the loop is left."""
        made = 0
        while n is None or made < scaled(n):
            made += 1
            yield self.take(pid, *args, status=status)

    def take(self, pid, *args, status=(0, 3)):
        """Take a dump."""
        self.settle()
        snapshot = os.path.join(self.temporary, "snapshot")
        result = snapwalk("dump", "--json", *PATIENT, *args, "--keep", snapshot, "--modules-store", self.store, pid)
        if result.returncode not in status:
            raise RuntimeError(f"snapwalk dump {pid}: status {result.returncode}\n{result.stderr}")
        return self.begin(Look(json.loads(result.stdout), result.stdout, snapshot))

    def series(self, pid, n, tid=None, stop="always"):
        """Yield n looks likewise, of one thread alone with tid, by tests/live/drive_dumps.c: faster than the command,
        as facts on programs are kept from one to the next. A snapshot is only written when it is kept."""
        command = [os.path.join(TARGETS, "drive_dumps"), pid, "ask", stop, self.store, *([] if tid is None else [tid])]
        os.makedirs(self.store, exist_ok=True)
        with subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as driver:
            def asked(line):
                driver.stdin.write(line + "\n")
                driver.stdin.flush()
                answer = driver.stdout.readline()
                if not answer:
                    raise RuntimeError(f"drive_dumps: status {driver.wait()}")
                return answer
            try:
                for _ in range(scaled(n)):
                    self.settle()
                    text = asked("")
                    yield self.begin(Look(json.loads(text), text, evidence=lambda folder: asked(os.path.join(folder, "snapshot"))))
            finally:
                self.settle()  # while there is a driver

    def look(self, report, evidence=None):
        """A look that was made elsewhere."""
        return self.begin(Look(report, evidence=evidence))

    def begin(self, look):
        self.settle()
        self.current = look
        return look

    def settle(self):
        """After the verdicts about a look: it is kept or deleted."""
        look, self.current = self.current, None
        if look is None:
            return
        self.n += look.judged
        bad = {kind: why for kind, why in reversed(look.bad)}  # the first of each
        for kind, why in bad.items():
            self.whys[kind].append(why)
        if bad:
            self.keep(look, "wrong" if "wrong" in bad else "cut")
        if look.snapshot is not None:
            shutil.rmtree(look.snapshot, ignore_errors=True)

    # ---- verdicts, one for each stack ----

    def right(self, look):
        self.verdict(look)

    def cut(self, look, why):
        self.verdict(look, cut=why)

    def wrong(self, look, why):
        self.verdict(look, wrong=why)

    def verdict(self, look, cut=None, wrong=None, text=""):
        """cut, wrong: why it is that, None: it is not; text: the stack. True when it is right. A stack that says itself
        that it is cut is not wrong."""
        self.stacks += 1
        look.judged = True
        for kind, why in (("cut", cut), ("wrong", wrong)):
            if why is not None:
                look.bad.append((kind, f"{why}\n{text}"))
                return False
        return True

    # ---- evidence ----

    def keep(self, look, kind):
        if len(self.kept[kind]) >= KEPT_MAX:
            return
        numbers = sorted(int(name) for name in os.listdir(self.folder) if name.isdigit())
        of_kind = [number for number in numbers if self.kind_of(number) == kind]
        for number in of_kind[:max(0, len(of_kind) + 1 - KEPT_MAX)]:
            shutil.rmtree(os.path.join(self.folder, str(number)))
        folder = os.path.join(self.folder, str(numbers[-1] + 1 if numbers else 1))
        os.mkdir(folder)
        with open(os.path.join(folder, "why"), "w") as file:
            file.write("".join(f"{each}: {why.rstrip()}\n" for each, why in sorted(look.bad, reverse=True)))
        with open(os.path.join(folder, "about.json"), "w") as file:
            json.dump(self.circumstances(look), file, indent=1)
        if look.report is not None:
            with open(os.path.join(folder, "dump.json"), "w") as file:
                file.write(look.text or json.dumps(look.report))
        if look.snapshot is not None and os.path.isdir(look.snapshot):
            os.rename(look.snapshot, os.path.join(folder, "snapshot"))
        if callable(look.evidence):
            look.evidence(folder)
        elif look.evidence is not None:
            with open(os.path.join(folder, "evidence"), "w") as file:
                file.write(look.evidence)
        self.kept[kind].append(folder)

    def kind_of(self, number):
        """Returns the kind of an earlier look; None when it is not whole."""
        try:
            with open(os.path.join(self.folder, str(number), "why")) as file:
                return file.read().partition(":")[0]
        except OSError:
            return None

    def circumstances(self, look):
        process = (look.report or {}).get("process", {})
        version = subprocess.run([SNAPWALK, "--version"], capture_output=True, text=True).stdout.splitlines()
        return {"name": self.name, "about": self.about, "looks_before": self.n - 1,
                "seed": os.environ.get("SNAPWALK_SEED"), "load": os.getloadavg(), "cpus": os.cpu_count(),
                "stolen_s": round(stolen_s() - self.stolen_s, 2), "snapwalk": version[0] if version else None,
                "kernel": platform.release(), "libc": " ".join(platform.libc_ver()), "exe": process.get("exe"),
                "runtimes": process.get("runtimes")}

    def clean(self):
        shutil.rmtree(self.temporary, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.rmdir(self.folder)  # unless something is kept
        for entry in os.scandir(self.store) if os.path.isdir(self.store) else ():
            with contextlib.suppress(OSError):  # another judge may do the same
                if entry.stat().st_nlink == 1:
                    os.unlink(entry.path)
        with contextlib.suppress(OSError):
            os.rmdir(self.store)

    # ---- the end ----

    def __exit__(self, exc_type, exc, _trace):
        if isinstance(exc, Exception) and self.current is not None:
            self.verdict(self.current, wrong=f"{exc_type.__name__}: {exc}")
        self.settle()
        self.clean()
        if exc is None:
            self.tap.check(self.stacks, f"{self.title()}: {self.stacks} stacks in {self.n} looks were judged")
            for kind in PRIORS:
                self.decide(kind)

    def title(self):
        return f"{self.name} {self.about}".rstrip()

    def decide(self, kind):
        whys, n = self.whys[kind], self.n
        bad, looks = self.rates.get((self.name, kind), (0, 0))
        known = bad, looks, prior_of(kind, bad, looks)
        chance = tail(len(whys), n, *known)
        most = next(k for k in range(n + 1) if k == n or tail(k + 1, n, *known) < LIMIT)
        evidence = self.kept[kind][0] if self.kept[kind] else "none"
        if not self.tap.check(chance >= LIMIT, f"{self.title()}: {len(whys)} of {n} looks are {kind}, up to {most} may be",
                              "\n".join([f"evidence: {evidence}", *whys[:3]])):
            return
        if n > 0:
            print(f"# rate: {self.name} {kind} {len(whys)} {n}", flush=True)
        if whys and (kind == "wrong" or chance < UNUSUAL):
            first = whys[0].splitlines()[0] if whys[0] else ""
            about = f"{self.about}: " if self.about else ""
            print(f"# rare: {self.name} {kind} {len(whys)} of {n}: {about}{first}; evidence {evidence}", flush=True)
