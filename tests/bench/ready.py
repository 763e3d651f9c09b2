"""Attaches to a service and detaches so many times, and says how long its threads were ready to run meanwhile while others had their place.

    ready.py COMMAND PID TIMES STALLS

The scheduler's tracepoints, by perf, tell when a thread is ready and when it runs; a wait is that of whoever ran there before. Prints for
threads of COMMAND, and for all others, how often that took longer than a millisecond, the longest, in milliseconds, and whose it was.
Threads that the service had at the beginning count, and those of its children. In the end the longest that the machine itself stood still,
as STALLS (stalls.c) tells: whoever has a processor keeps it as long. Fails where perf may not trace.
"""

import os
import re
import subprocess
import sys
import tempfile

from cycles import Machine, watched

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


def waits_in(told, chosen):
    """How long each time one of the chosen threads was ready, in milliseconds, and who ran before it."""
    since, waits = {}, []
    for line in told:
        if switch := SWITCH.match(line):
            moment = 1000 * float(switch[1])
            if switch[5] in since:
                waits.append((moment - since.pop(switch[5]), switch[2]))
            if switch[3] in chosen and switch[4].startswith("R"):
                since[switch[3]] = moment
        elif (wakeup := WAKEUP.match(line)) and wakeup[2] in chosen:
            since.setdefault(wakeup[2], 1000 * float(wakeup[1]))
    return waits


def told_of(waits):
    longest, who = max(waits, default=(0, "none"))
    return f"{sum(wait > 1 for wait, _ in waits)} times longer than 1, {longest:.1f} at most ({who.split('/')[0]})"


def main():
    command, pid, times = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    chosen = set(threads(pid))
    machine = Machine(sys.argv[4])
    ours = {os.path.basename(command)[:15]}
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        data = folder + "/data"
        switches = "||".join(f"prev_pid=={task}||next_pid=={task}" for task in chosen)
        wakeups = "||".join(f"pid=={task}" for task in chosen)
        options = ["-a", "-m", "2048", "-e", "sched:sched_switch", "--filter", switches, "-e", "sched:sched_wakeup", "--filter", wakeups]
        watched(data, options, command, pid, times, folder, lambda collector: ours.update(names(collector.pid, command)))
        stood = machine.stood()
        script = subprocess.Popen(
            ["perf", "script", "-i", data, "--ns", "-F", "time,event,trace"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        waits = waits_in(script.stdout, chosen)
        script.wait()
    if not waits:
        raise SystemExit("ready: nothing was traced")
    of_ours, others = ([wait for wait in waits if (wait[1] in ours) == is_ours] for is_ours in (True, False))
    print(f"ours {told_of(of_ours)}, others {told_of(others)}; machine {stood}")


if __name__ == "__main__":
    main()
