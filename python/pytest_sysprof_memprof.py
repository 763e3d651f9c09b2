"""Memory limits of tests, checked on a recording of the whole run.

    @pytest.mark.limit_memory("24 MB")                what the test holds of its own at once
    @pytest.mark.limit_leaks("1 KB", warmups=1)       what it has allocated and not freed when it ends

With --memprof the tests run in another process, which `sysprof-memprof run` starts and records:

    pytest --memprof ──► sysprof-memprof run ──► pytest       each marked test is a region of the recording, and
           │                                       │          writes its rules to a folder
           └──► sysprof-memprof check ◄── rules ◄──┘

Without --memprof the markers do nothing.
"""

import ctypes
import gc
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import pytest

#: In the environment of the processes that are recorded: the folder for their rules.
FOLDER = "SYSPROF_MEMPROF_PYTEST_RULES"

#: Most bytes of a region's name, with " end" behind it; the recording cuts longer ones.
MOST_NAME = 200

UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40, "PB": 1 << 50}


def pytest_addoption(parser):
    group = parser.getgroup("sysprof-memprof")
    group.addoption("--memprof", action="store_true", help="record the tests, and check their memory limits")
    group.addoption("--memprof-output", metavar="FILE", help="keep the recording in FILE")
    parser.addini("memprof", "record the tests, and check their memory limits", type="bool", default=False)


def pytest_configure(config):
    config.addinivalue_line("markers", "limit_memory(limit): most memory that the test may hold of its own at once")
    config.addinivalue_line("markers", "limit_leaks(limit, *, warmups=0): most memory that the test may leave behind")
    folder = os.environ.get(FOLDER)
    if folder:
        config.pluginmanager.register(Regions(folder), "sysprof-memprof-regions")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    is_asked = config.getoption("memprof") or config.getini("memprof")
    is_special = any(getattr(config.option, name, False) for name in ("collectonly", "help", "markers", "version"))
    if not is_asked or is_special or FOLDER in os.environ:
        return None
    return _record_and_check(config)


def _record_and_check(config):
    """Runs the tests as a recorded process; the exit code is that of the tests, or 1 if a limit is broken."""
    command = shutil.which("sysprof-memprof")
    if command is None:
        raise pytest.UsageError("--memprof needs the command sysprof-memprof on the PATH")
    with tempfile.TemporaryDirectory(prefix="pytest-memprof-") as folder:
        capture = config.getoption("memprof_output") or os.path.join(folder, "pytest.memprof")
        # Otherwise Python takes its objects from arenas of its own, which stay when the objects are gone.
        environment = {"PYTHONMALLOC": "malloc", **os.environ, FOLDER: folder}
        tests = [sys.executable, "-m", "pytest", *map(str, config.invocation_params.args)]
        run = [command, "run", "--quiet", "--force", "--output", os.path.abspath(capture), "--", *tests]
        code = subprocess.run(run, env=environment, cwd=config.invocation_params.dir).returncode
        files = sorted(glob.glob(os.path.join(glob.escape(folder), "*.rules")))
        if not files or not os.path.exists(capture):
            return code
        rules = os.path.join(folder, "rules.toml")
        with open(rules, "w", encoding="utf-8") as out:
            for file in files:
                with open(file, encoding="utf-8") as part:
                    out.write(part.read())
        print("memory limits:", flush=True)
        checked = subprocess.run([command, "check", capture, "--rules", rules]).returncode
        return code or min(checked, 1)


class Regions:
    """Makes marked tests regions of the recording, and writes their rules."""

    def __init__(self, folder):
        self.rules = os.path.join(folder, f"{os.getpid()}.rules")
        self.agent = ctypes.CDLL(None)
        self.names = set()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        memory, leaks = (item.get_closest_marker(name) for name in ("limit_memory", "limit_leaks"))
        if not (memory or leaks):
            yield
            return
        most, left = _limit(memory), _limit(leaks)
        for _ in range(leaks.kwargs.get("warmups", 0) if leaks else 0):
            item.runtest()
        name = self._name(item.nodeid)
        if leaks:
            gc.collect()
        self._mark("begin", name)
        yield
        if leaks:
            gc.collect()
        self._mark("end", name)
        self._mark("", f"{name} end")
        self._write(name, item.nodeid, "limit_memory", f"max-peak = {most}", memory)
        end = _quoted(f"mark:{name} end")
        self._write(name, item.nodeid, "limit_leaks", f"to = {end}\nmax-growth = {left}", leaks)

    def _mark(self, kind, name):
        # Without the agent, as in a child that is not recorded, there is no such function.
        function = getattr(self.agent, f"memprof_mark_{kind}".rstrip("_"), None)
        if function is not None:
            function(name.encode("utf-8", "replace"))

    def _name(self, node):
        """A name that no other region has: tests may be repeated, and names may be long."""
        encoded = node.encode("utf-8", "replace")
        base = node if len(encoded) <= MOST_NAME else f"{node[: MOST_NAME // 8]} {hashlib.sha256(encoded).hexdigest()[:16]}"
        name, number = base, 1
        while name in self.names:
            number += 1
            name = f"{base} #{number}"
        self.names.add(name)
        return name

    def _write(self, name, node, marker, limits, is_marked):
        if not is_marked:
            return
        with open(self.rules, "a", encoding="utf-8") as out:
            title = _quoted(f"{marker} of {node}")
            # Other workers of pytest-xdist have tests of their own at that time.
            out.write(f'[[rule]]\nname = {title}\nfilter = "process:{os.getpid()}"\nduring = {_quoted(name)}\n{limits}\n\n')


def _quoted(text):
    """As a string of TOML."""
    return json.dumps(text.encode("utf-8", "replace").decode(), ensure_ascii=False)


def _limit(marker):
    """The bytes of a limit such as "24 MB"; none without a marker."""
    if marker is None:
        return None
    text = str(marker.args[0]) if marker.args else ""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGTP]?B)\s*", text, re.IGNORECASE)
    if found is None:
        raise ValueError(f"{marker.name}: {text!r} is not a size: write it like \"24 MB\"")
    return int(float(found[1]) * UNITS[found[2].upper()])
