# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes objects of OpenSSL and connections of SQLite, of which two functions keep theirs."""
import sqlite3
import ssl
import sys

context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
held = []


def wrap():
    return context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="a")


def leak_tls():
    held.append(wrap())


def drop_tls():
    wrap()


def leak_database():
    held.append(sqlite3.connect(":memory:"))


def close_database():
    connection = sqlite3.connect(":memory:")
    connection.executescript("create table t(a); insert into t values(1);")
    connection.execute("select a from t").fetchall()
    connection.close()


print("ready", flush=True)
for line in sys.stdin:
    for i in range(7):
        leak_tls()
        drop_tls()
        leak_database()
        close_database()
    print("done", flush=True)
