"""Attaches to a service and detaches so many times while perf watches: for stops.py and ready.py."""

import subprocess
import time


def watched(data, options, command, pid, times, folder, look=None):
    """Has perf record to a file meanwhile. Calls `look` with each collector now and then. Fails where perf may not."""
    perf = subprocess.Popen(
        ["perf", "record", "-q", "-o", data, "-k", "mono", *options],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )
    time.sleep(0.5)
    if perf.poll() is not None:
        raise SystemExit(f"perf: {perf.stderr.read().strip()}")
    for _ in range(times):
        collector = subprocess.Popen(
            [command, "attach", str(pid), "--quiet", "--no-symbolize", "--force", "--duration", "100ms",
             "--output", folder + "/it.memprof"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        while collector.poll() is None:
            if look:
                look(collector)
            time.sleep(0.02)
        while "memfd:sysprof" in open(f"/proc/{pid}/maps", encoding="utf-8").read():
            time.sleep(0.005)
    perf.send_signal(2)
    perf.communicate()
