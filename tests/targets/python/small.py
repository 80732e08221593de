# SPDX-License-Identifier: LGPL-2.1-or-later
"""Two threads that wait below a few kinds of calls: what recorded fixtures are made of."""
import sys
import threading

lock = threading.Lock()


class Order:
    def __init__(self, number):
        self.number = number

    def __lt__(self, other):
        return self.wait()

    def wait(self):
        lock.acquire()


def generate():
    yield sorted([Order(1), Order(2)])


def collect():
    return [order for order in generate()]


def main():
    lock.acquire()
    threading.Thread(target=collect, daemon=True).start()
    print("ready", flush=True)
    (lambda: max((Order(1),), key=Order.wait))()


main()
