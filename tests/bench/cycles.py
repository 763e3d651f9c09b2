"""Attaches to a service and detaches so many times while perf watches: for stops.py and ready.py."""

import contextlib
import subprocess
import tempfile
import time


class Machine:
    """Finds out how long the machine itself stands still meanwhile, by STALLS (stalls.c)."""

    def __init__(self, stalls):
        self.steps = tempfile.NamedTemporaryFile("w", suffix=".steps")
        self.steps.write(f"{time.time()} all\n")
        self.steps.flush()
        self.watch = subprocess.Popen(
            [stalls, self.steps.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def stood(self):
        """The longest, in milliseconds, ? where it cannot be told. Ends the watch."""
        told = self.watch.communicate()[0].split()
        self.steps.close()
        return told[1] if len(told) > 1 else "?"


@contextlib.contextmanager
def recording(data, options):
    """Has perf record to a file meanwhile. Fails where perf may not."""
    perf = subprocess.Popen(
        ["perf", "record", "-q", "-o", data, "-k", "mono", *options],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )
    time.sleep(0.5)
    if perf.poll() is not None:
        raise SystemExit(f"perf: {perf.stderr.read().strip()}")
    try:
        yield
    finally:
        perf.send_signal(2)
        perf.communicate()


def watched(data, options, command, pid, times, folder, look=None):
    """The same while it attaches. Calls `look` with each collector now and then."""
    with recording(data, options):
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
