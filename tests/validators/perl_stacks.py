# Compares the stacks of blocks in a recording of Perl with what the script has said of them, a line for each: its size, and
# its frames from the innermost outwards. Prints how many are right; fails if one is not.
#
#   python3 perl_stacks.py MEMPROF CAPTURE SAID
import collections, json, subprocess, sys

memprof, capture, said = sys.argv[1:]
expected = collections.defaultdict(lambda: [0, 0])
for line in open(said):
    size, stack = line.rstrip("\n").split(" ", 1)
    expected[stack][0] += 1
    expected[stack][1] += int(size)


def is_script(frame):
    module = frame.get("module") or ""
    return module.endswith((".pl", ".pm")) or module.startswith("(eval ")


report = [memprof, "report", "--json", "--by", "allocations", "--size", "40001..200000", capture]
found = collections.defaultdict(lambda: [0, 0])
for row in json.loads(subprocess.run(report, capture_output=True, check=True).stdout)["rows"]:
    frames = [f"{frame['function']}:{frame['line'] or 0}" for frame in row["stack"] if is_script(frame)]
    stack = found[" ".join(frames)]
    stack[0] += row["allocations"]
    stack[1] += row["bytes"]
wrong = [stack for stack, blocks in expected.items() if found[stack] != blocks]
all_blocks = sum(blocks for blocks, _ in expected.values())
right = all_blocks - sum(expected[stack][0] for stack in wrong)
print(f"{right} of {all_blocks}")
sys.exit(f"wrong: {wrong[0]}" if wrong or not expected else 0)
