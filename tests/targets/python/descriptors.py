# SPDX-License-Identifier: LGPL-2.1-or-later
"""Opens descriptors and writes down how many, as tests/targets/descriptors.c does."""
import os
import socket
import subprocess
import sys

held = []


class Pool:
    def connect(self):
        held.append(socket.socket())


def load():
    with open("/dev/null") as file:
        file.read()


def run():
    subprocess.run(["true"], stdout=subprocess.PIPE, check=True)


def leak():
    return os.open("/dev/null", os.O_RDONLY)


print("ready", flush=True)
for line in sys.stdin:
    for i in range(30):
        Pool().connect()
        load()
        leak()
    run()
    print("Pool.connect 30 30")
    print("load 30 0")
    print("leak 30 30")
    print("done", flush=True)
