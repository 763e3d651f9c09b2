"""Attaches to a service and detaches so many times, and says how long its threads were ready to run meanwhile while others had their place.

    ready.py COMMAND PID TIMES STALLS
    ready.py COMMAND PID COLLECTORS

The scheduler's tracepoints, by perf, tell when a thread is ready and when it runs; a wait is that of whoever ran there before. Prints for
threads of COMMAND, and for all others, how often that took longer than a millisecond, the longest, in milliseconds, and whose it was.
Threads that the service had at the beginning count, and those of its children. In the end the longest that the machine itself stood still,
as STALLS (stalls.c) tells: whoever has a processor keeps it as long. Fails where perf may not trace.

The second form attaches to nothing. At the end of its input it prints each time that was longer than a tenth of a millisecond: when it
began and ended, in seconds since 1970, `ours` or `other`, and who it was. COLLECTORS is a file with the process ids of ours, a line for each.
"""

import os
import re
import select
import subprocess
import sys
import tempfile
import time

from cycles import Machine, recording, watched

SWITCH = re.compile(
    r"\s*([\d.]+):\s+sched:sched_switch: prev_comm=(.*) prev_pid=(\d+) prev_prio=-?\d+ prev_state=(\S+) "
    r"==> next_comm=.* next_pid=(\d+) "
)
WAKEUP = re.compile(r"\s*([\d.]+):\s+sched:sched_wakeup: comm=.* pid=(\d+) ")

# As many as fit into a filter.
MOST = 50


def threads(pid):
    """Of a process and of its children."""
    tasks = os.listdir(f"/proc/{pid}/task")
    children = [open(f"/proc/{pid}/task/{task}/children", encoding="utf-8").read().split() for task in tasks]
    for child in sum(children, []):
        if os.path.exists(f"/proc/{child}/task"):
            tasks += os.listdir(f"/proc/{child}/task")
    return tasks[:MOST]


def names(collector, command):
    """Of the threads of a process, once it is the command."""
    try:
        if not os.path.samefile(f"/proc/{collector}/exe", command):
            return set()
        return {open(f"/proc/{collector}/task/{task}/comm", encoding="utf-8").read().strip()
                for task in os.listdir(f"/proc/{collector}/task")}
    except OSError:
        return set()


def waits_in(data, chosen):
    """When each time began and ended that one of the chosen threads was ready, in milliseconds, and who ran before it."""
    script = subprocess.Popen(
        ["perf", "script", "-i", data, "--ns", "--show-lost-events", "-F", "time,event,trace"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )
    since, waits = {}, []
    for line in script.stdout:
        if switch := SWITCH.match(line):
            moment = 1000 * float(switch[1])
            if switch[5] in since:
                waits.append((since.pop(switch[5]), moment, switch[2]))
            if switch[3] in chosen and switch[4].startswith("R"):
                since[switch[3]] = moment
        elif (wakeup := WAKEUP.match(line)) and wakeup[2] in chosen:
            since.setdefault(wakeup[2], 1000 * float(wakeup[1]))
        elif "PERF_RECORD_LOST" in line:
            # Who was ready then may have run since.
            since.clear()
    script.wait()
    return waits


def told_of(waits):
    longest, who = max(((end - begin, who) for begin, end, who in waits), default=(0, "none"))
    count = sum(end - begin > 1 for begin, end, _ in waits)
    return f"{count} times longer than 1, {longest:.1f} at most ({who.split('/')[0]})"


def options(chosen):
    """Of perf, to record what happens to these threads."""
    switches = "||".join(f"prev_pid=={task}||next_pid=={task}" for task in chosen)
    wakeups = "||".join(f"pid=={task}" for task in chosen)
    return ["-a", "-m", "2048", "-e", "sched:sched_switch", "--filter", switches, "-e", "sched:sched_wakeup", "--filter", wakeups]


def attach(command, pid, times, stalls, folder):
    chosen = set(threads(pid))
    machine = Machine(stalls)
    ours = {os.path.basename(command)[:15]}
    data = folder + "/data"
    watched(data, options(chosen), command, pid, times, folder, lambda collector: ours.update(names(collector.pid, command)))
    stood = machine.stood()
    waits = waits_in(data, chosen)
    if not waits:
        raise SystemExit("ready: nothing was traced")
    of_ours, others = ([wait for wait in waits if (wait[2] in ours) == is_ours] for is_ours in (True, False))
    print(f"ours {told_of(of_ours)}, others {told_of(others)}; machine {stood}")


def watch(command, pid, collectors, folder):
    # Clients connect first: some services have a process for each.
    select.select([sys.stdin], [], [], 0.5)
    chosen = set(threads(pid))
    ours = {os.path.basename(command)[:15]}
    data = folder + "/data"
    with recording(data, options(chosen)):
        while not select.select([sys.stdin], [], [], 0.02)[0]:
            for collector in open(collectors, encoding="utf-8").read().split()[-1:]:
                ours.update(names(collector, command))
    os.nice(19)
    since_1970 = time.time() - time.monotonic()
    for begin, end, who in waits_in(data, chosen):
        if end - begin > 0.1:
            whose = "ours" if who in ours else "other"
            print(f"{begin / 1000 + since_1970:.6f} {end / 1000 + since_1970:.6f} {whose} {who}")


def main():
    command, pid = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        if len(sys.argv) == 4:
            watch(command, pid, sys.argv[3], folder)
        else:
            attach(command, pid, int(sys.argv[3]), sys.argv[4], folder)


if __name__ == "__main__":
    main()
