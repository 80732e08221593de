# SPDX-License-Identifier: LGPL-2.1-or-later
"""A file system whose server stops answering when a test says so.

    enter_mounts()                                      # a mount namespace of the test's own
    with Fuse("/path", {"file": b"bytes"}) as fuse:
        fuse.stop_after(3)                              # three more requests are answered
        ...
        fuse.resume()                                   # those that wait have their answers, and all later ones

The server is a process of its own. It reads each request, also when it gives no answer, so that the kernel's wait
for that answer ends by no signal. It keeps nothing in the kernel's caches: each name, each attribute and, after an open,
each page is a request.
"""
import ctypes
import errno
import mmap
import os
import signal
import stat
import struct
import threading
import time

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, MS_REC, MS_PRIVATE, MNT_DETACH = 0x20000, 0x4000, 1 << 18, 2
# include/uapi/linux/fuse.h, v6.1
LOOKUP, FORGET, GETATTR, READLINK, OPEN, READ, STATFS, RELEASE, FLUSH = 1, 2, 3, 5, 14, 15, 17, 18, 25
INIT, OPENDIR, READDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET = 26, 27, 28, 29, 36, 42
ROOT, WITHOUT_LIMIT = 1, -1
IN_HEADER = struct.Struct("=IIQQIIII")
READ_BYTES = 1 << 17


def call(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def enter_mounts():
    """Give this process, and what it starts, mounts of its own from now on."""
    call(LIBC.unshare(CLONE_NEWNS), "unshare")
    call(LIBC.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "mount")


def bind(source, target):
    call(LIBC.mount(source.encode(), target.encode(), None, 4096, None), f"bind {target}")


def overlay(layers, target):
    """Nothing can be written there: there is no upper layer."""
    options = "lowerdir=" + ":".join(layers)
    call(LIBC.mount(b"overlay", target.encode(), b"overlay", 0, options.encode()), f"overlayfs at {target}")


def overlay_to_write(lower, upper, work, target):
    """Changes go into the directory upper; work is an empty one beside it."""
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    call(LIBC.mount(b"overlay", target.encode(), b"overlay", 0, options.encode()), f"overlayfs at {target}")


def memory(target):
    """An empty file system in memory."""
    call(LIBC.mount(b"none", target.encode(), b"tmpfs", 0, b"mode=755"), f"tmpfs at {target}")


def unmount(path):
    LIBC.umount2(path.encode(), MNT_DETACH)


class Node:
    def __init__(self, number, content):
        self.number = number
        self.content = content  # bytes: a file; str: a symbolic link; dict: a directory
        self.children = {}


class Shared:
    """A number that both processes see."""

    def __init__(self, offset):
        self.offset = offset

    def __get__(self, owner, kind=None):
        return struct.unpack_from("=q", owner.shared, self.offset)[0]

    def __set__(self, owner, value):
        struct.pack_into("=q", owner.shared, self.offset, value)


class Fuse:
    """contents: {path: bytes of a file, or str of a symbolic link}. A file "*" has each name that no other has."""

    left, asked, slow_ms = Shared(0), Shared(8), Shared(16)

    def __init__(self, path, contents, device=None):
        self.path = path
        self.device = device  # a block device: its number is then that of the files, as of a disk's
        self.nodes = {ROOT: Node(ROOT, {})}
        for name, content in contents.items():
            *directories, last = name.split("/")
            at = self.nodes[ROOT]
            for directory in directories:
                at = self.add(at, directory, {})
            self.add(at, last, content)
        # The number of requests that the server still answers, and how many it got up to now.
        self.shared = mmap.mmap(-1, 24)
        self.left, self.asked, self.slow_ms = WITHOUT_LIMIT, 0, 0

    def add(self, parent, name, content):
        if name not in parent.children:
            node = Node(len(self.nodes) + 1, content)
            self.nodes[node.number] = parent.children[name] = node
        return parent.children[name]

    def __enter__(self):
        self.fd = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other"
        kind, source = (b"fuseblk", self.device.encode()) if self.device else (b"fuse.snapwalk", b"snapwalk-test")
        call(LIBC.mount(source, self.path.encode(), kind, 0, options.encode()), self.path)
        told, self.tell = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self.tell)
                self.serve(told)
            finally:
                os._exit(0)
        # The server's alone: its end is that of the connection.
        os.close(self.fd)
        os.close(told)
        os.stat(self.path)
        return self

    def __exit__(self, *exc):
        os.close(self.tell)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        unmount(self.path)

    def stop_after(self, answers):
        self.left = answers

    def resume(self):
        self.left = WITHOUT_LIMIT
        os.write(self.tell, b"x")

    # ---- the server ---------------------------------------------------------------------------------

    def serve(self, told):
        withheld, lock = [], threading.Lock()

        def answer_withheld():
            while os.read(told, 1):
                with lock:
                    for request in withheld:
                        self.answer(*request)
                    withheld.clear()
            os._exit(0)  # the test has ended

        threading.Thread(target=answer_withheld, daemon=True).start()
        while True:
            try:
                data = os.read(self.fd, READ_BYTES + 4096)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT):
                    continue
                return
            length, opcode, unique, node, *_ = IN_HEADER.unpack_from(data)
            request = opcode, unique, node, data[IN_HEADER.size:length]
            if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
                continue
            if self.slow_ms:
                time.sleep(self.slow_ms / 1000)  # a server that is slow
            with lock:
                self.asked += 1
                left = self.left
                if left > 0:
                    self.left = left - 1
                if left == 0:
                    withheld.append(request)
                else:
                    self.answer(*request)

    def answer(self, opcode, unique, number, argument):
        node = self.nodes.get(number)
        result = self.result(opcode, node, argument)
        error, data = (-result, b"") if isinstance(result, int) else (0, result)
        try:
            os.write(self.fd, struct.pack("=IiQ", 16 + len(data), error, unique) + data)
        except OSError:
            pass  # who asked has gone

    def attributes(self, node):
        kind = {bytes: stat.S_IFREG | 0o755, str: stat.S_IFLNK | 0o777, dict: stat.S_IFDIR | 0o755}
        size = len(node.content)
        return struct.pack("=QQQQQQIIIIIIIIII", node.number, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0,
                           kind[type(node.content)], 1, 0, 0, 0, 4096, 0)

    def result(self, opcode, node, argument):
        """The bytes of the answer, or an errno."""
        if opcode == INIT:
            return struct.pack("=IIIIHHIIHHI28x", 7, 31, 0, 0, 0, 0, READ_BYTES, 1, 0, 0, 0)
        if opcode == LOOKUP:
            child = node.children.get(argument.rstrip(b"\0").decode(), node.children.get("*"))
            if child is None:
                return errno.ENOENT
            return struct.pack("=QQQQII", child.number, 0, 0, 0, 0, 0) + self.attributes(child)
        if opcode == GETATTR:
            return struct.pack("=QII", 0, 0, 0) + self.attributes(node)
        if opcode == READLINK:
            return node.content.encode()
        if opcode in (OPEN, OPENDIR):
            return struct.pack("=QII", 1, 0, 0)
        if opcode == READ:
            offset, size = struct.unpack_from("=8xQI", argument)
            return node.content[offset:offset + size]
        if opcode in (READDIR, RELEASE, RELEASEDIR, FLUSH):
            return b""
        if opcode == STATFS:
            return struct.pack("=QQQQQIII28x", 0, 0, 0, 0, 0, 4096, 255, 0)
        return errno.ENOSYS


def available():
    """Why there can be no such file system here; "" when there can."""
    if os.geteuid() != 0:
        return "not root"
    return "" if os.path.exists("/dev/fuse") else "no /dev/fuse"
