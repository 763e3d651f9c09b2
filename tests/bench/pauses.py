"""Asks a service each millisecond on a connection of its own, and says how long it waited for the slowest answer.

    pauses.py PROTOCOL ADDRESS STEPS

PROTOCOL is redis, http or postgres; ADDRESS a port of this machine or the path of a socket. STEPS is a file that names what
goes on, a line for each: seconds since 1970, and a word. At the end of its input a line for each word says the longest wait that
began after that step and before the next one, in milliseconds, how many there were, and when that one began, in seconds since 1970.
"""

import os
import select
import socket
import struct
import sys
import time

PERIOD = 0.001


def dial(protocol, address):
    """A connection on which questions can be asked."""
    if address.isdigit():
        connection = socket.create_connection(("127.0.0.1", int(address)))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    else:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(address)
    if protocol == "postgres":
        words = b"user\0postgres\0database\0postgres\0\0"
        connection.sendall(struct.pack("!ii", 8 + len(words), 196608) + words)
        read_until(connection, lambda answer: answer.endswith(b"Z\0\0\0\5I"))
    return connection


def read_until(connection, is_whole):
    answer = b""
    while not is_whole(answer):
        more = connection.recv(65536)
        if not more:
            return False
        answer += more
    return True


def http_is_whole(answer):
    head, separator, body = answer.partition(b"\r\n\r\n")
    if not separator:
        return False
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return len(body) >= int(value)
    return False


QUESTIONS = {
    "redis": (b"PING\r\n", lambda answer: answer.endswith(b"\r\n")),
    "http": (b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n", http_is_whole),
    "postgres": (b"Q\0\0\0\rSELECT 1\0", lambda answer: answer.endswith(b"Z\0\0\0\5I")),
}


def main():
    protocol, address, steps = sys.argv[1:]
    question, is_whole = QUESTIONS[protocol]
    connection = dial(protocol, address)
    waits = []
    due = time.time()
    while not select.select([sys.stdin], [], [], 0)[0]:
        due = max(due + PERIOD, time.time())
        time.sleep(max(0, due - time.time()))
        begin = time.time()
        connection.sendall(question)
        if not read_until(connection, is_whole):
            connection.close()
            connection = dial(protocol, address)
        waits.append((begin, time.time() - begin))
    # What follows takes a while, in which another client may still ask: it is to wait for nobody who only counts.
    if hasattr(os, "sched_setscheduler"):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.nice(19)
    names = [line.split() for line in open(steps, encoding="utf-8")]
    edges = [(float(when), name) for when, name in names] + [(float("inf"), "")]
    for (begin, name), (end, _) in zip(edges, edges[1:]):
        inside = [(wait, when) for when, wait in waits if begin <= when < end]
        longest, when = max(inside, default=(0, begin))
        print(name, f"{1000 * longest:.2f}", len(inside), f"{when:.6f}")


if __name__ == "__main__":
    main()
