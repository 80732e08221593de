# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes threads and writes down how many, as tests/targets/lives.c does. The interpreter detaches its threads."""
import sys
import threading


class Worker:
    def launch(self):
        threading.Thread(target=threading.Event().wait, daemon=True).start()


def joined():
    thread = threading.Thread(target=len, args=("",))
    thread.start()
    thread.join()


print("ready", flush=True)
for line in sys.stdin:
    for i in range(15):
        Worker().launch()
        joined()
    print("Worker.launch 15 15 0")
    print("joined 15 0 0")
    print("done", flush=True)
