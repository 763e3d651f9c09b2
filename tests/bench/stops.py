"""Attaches to a service and detaches so many times, and says how long its threads were in the agent's code for that, at most.

    stops.py COMMAND PID TIMES STALLS

The agent does what attach and detach take in two functions: one hears the call, connects, and tidies up in the end; another one takes
a ring for the thread. Breakpoints of the processor at their beginnings and ends, by perf, tell when threads come and go. A processor
has four of them: a function that returns in more than three places is watched twice. Prints for each function, in milliseconds: the
longest stay but for what the kernel gave to other threads meanwhile, what 99 of 100 stay below, and the longest with all; then the
longest that the machine itself stood still, as STALLS (stalls.c) tells. Children of the service count, too.
Fails where perf may not set breakpoints.
"""

import re
import subprocess
import sys
import tempfile

from cycles import Machine, watched

FUNCTIONS = ["process::hear", "guard::enter_slowly"]
PLACES = 3


def mapping(pid):
    """Where the agent is, and its file."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        for line in maps:
            if "sysprof_memprof_preload" in line:
                return int(line.split("-")[0], 16), line.split()[-1]
    raise SystemExit(f"stops: process {pid} does not have the agent")


def function(agent, name):
    """Beginning of a function, and where it returns."""
    listed = subprocess.run(["nm", "-C", "-S", agent], capture_output=True, text=True, check=True).stdout
    found = re.search(rf"^(\w+) (\w+) \w \S*{re.escape(name)}$", listed, re.MULTILINE)
    if not found:
        raise SystemExit(f"stops: the agent has no {name}: it was built without symbols")
    begin, size = (int(part, 16) for part in found.groups())
    code = subprocess.run(
        ["objdump", "-d", f"--start-address={begin}", f"--stop-address={begin + size}", agent],
        capture_output=True, text=True, check=True,
    ).stdout
    return begin, [int(place, 16) for place in re.findall(r"^\s*(\w+):.*\bret\b", code, re.MULTILINE)]


def stays_of(told, base, begin):
    """How long threads stayed, and with what others were given, in milliseconds."""
    came, lost, left, stays = {}, {}, {}, []
    for thread, moment, place in re.findall(r"^\s*(\d+)\s+([\d.]+):\s+(\S.*?)\s*$", told, re.MULTILINE):
        moment = 1000 * float(moment)
        if place.startswith("PERF_RECORD_SWITCH"):
            if place.endswith("preempt"):
                left[thread] = moment
            elif thread in left:
                lost[thread] = lost.get(thread, 0) + moment - left.pop(thread)
        elif int(place, 16) - base == begin:
            came[thread], lost[thread] = moment, 0
        elif thread in came:
            stay = moment - came.pop(thread)
            stays.append((stay - lost[thread], stay))
    return stays


def watch(command, pid, times, base, begin, ends):
    """Stays in a function while somebody attaches and detaches."""
    with tempfile.TemporaryDirectory() as folder:
        data = folder + "/data"
        events = [part for place in [begin, *ends] for part in ("-e", f"mem:{base + place:#x}:x:u")]
        options = ["-c", "1", "--switch-events", "-p", str(pid), *events]
        watched(data, options, command, pid, times, folder)
        told = subprocess.run(
            ["perf", "script", "-i", data, "-F", "tid,time,ip", "--show-switch-events"],
            capture_output=True, text=True, check=True,
        ).stdout
    return stays_of(told, base, begin)


def main():
    command, pid, times, stalls = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    base, agent = mapping(pid)
    told = []
    machine = Machine(stalls)
    for name in FUNCTIONS:
        begin, ends = function(agent, name)
        stays = []
        for first in range(0, len(ends), PLACES):
            stays += watch(command, pid, times, base, begin, ends[first:first + PLACES])
        if not stays:
            told.append(f"? ({name})")
            continue
        own, whole = (sorted(column) for column in zip(*stays))
        rarely = own[int(0.99 * (len(own) - 1))]
        told.append(f"{own[-1]:.1f}, 99 of 100 below {rarely:.1f}, with preemption {whole[-1]:.1f} ({name}, {len(own)} times)")
    print(", ".join(told) + f"; machine {machine.stood()}")


if __name__ == "__main__":
    main()
