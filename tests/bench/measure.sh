# shellcheck shell=bash
# What the tables of scripts/bench share: the build, the machine, recordings, and the numbers of all runs.
#
# Every run appends lines to the file "numbers"; a table shows the medians of those that belong together:
#
#   loop/20 recorded malloc 291.4       key, mode, what, and how much
#   loop/20 recorded malloc 288.0       the same in the next round
#   loop/20 heaptrack pair 655.0

# Builds everything, and goes to a temporary folder that is removed at the end.
set_up() {
    repository=$PWD
    cargo build --locked --quiet --release --package sysprof-memprof
    memprof=$(realpath "${CARGO_TARGET_DIR:-target}/release/sysprof-memprof")
    agent=$("$memprof" agent path 2>/dev/null)
    cores=${BENCH_CORES:-$(allowed_processors | head -2 | paste -sd,)}
    has_heaptrack=$(command -v heaptrack || true)
    can_sample=$("$memprof" run --help | grep -o -- '--sample' | sed 1q || true)
    statistic=${STATISTIC:-median}
    watched=()
    bench_folder=$(mktemp -d)
    directory=$bench_folder
    trap 'rm -rf "$bench_folder"' EXIT
    set -E
    trap 'echo "bench: failed: $BASH_COMMAND" >&2' ERR
    unset SYSPROF_MEMPROF_SOCKET SYSPROF_MEMPROF_DISABLE SYSPROF_MEMPROF_SAMPLE LD_PRELOAD
    cd "$bench_folder"
    : >numbers
    build_programs
}

allowed_processors() {
    taskset -cp $$ | sed 's/.*: //; s/,/\n/g' | awk -F- '{ for (i = $1; i <= (NF > 1 ? $2 : $1); i++) print i }'
}

build_programs() {
    local source=$repository/tests/bench name
    local flags=(-D_GNU_SOURCE -O2 -g1 -fomit-frame-pointer -pthread)
    for name in loop batch tree alternating all_new scattered threads cross larson resident; do
        cc "${flags[@]}" -o "$name" "$source/$name.c"
    done
    cc "${flags[@]}" -DNEVER_AGAIN -o growing "$source/tree.c"
    c++ -std=c++17 "${flags[@]}" -o mix "$source/mix.cpp"
    cc "${flags[@]}" -fPIC -shared -o empty_hook.so "$source/empty_hook.c"
    has_libunwind=""
    if cc -E -include libunwind.h -xc /dev/null >/dev/null 2>&1; then
        cc "${flags[@]}" -fPIC -shared -o unwinding_hook.so "$source/unwinding_hook.c" -lunwind
        has_libunwind=1
    fi
}

# Prints when and on which machine this is measured.
machine() {
    local model missing=""
    model=$(sed -n 's/^model name.*: //p' /proc/cpuinfo | sed 1q)
    printf '%s, %s, %s processors of which %s are used, load %s, Linux %s, %s, %s' "$(date +%F)" "$model" "$(nproc)" \
        "$cores" "$(cut -d' ' -f1 /proc/loadavg)" "$(uname -r)" "$(getconf GNU_LIBC_VERSION)" "$(cc --version | sed 1q)"
    if [[ $has_heaptrack ]]; then printf ', %s' "$(heaptrack --version)"; else missing+=" heaptrack"; fi
    [[ $has_libunwind ]] || missing+=" libunwind.h"
    [[ $can_sample ]] || missing+=" run --sample"
    printf '.%s\n' "${missing:+ Not there, so not measured:$missing.}"
}

# Runs a command on the chosen processors, in the folder that it is to work in; by what watches it, if there is any.
pinned() { "${watched[@]}" taskset -c "$cores" env -C "$directory" "$@" </dev/null; }

# Records a command into the file "capture", as it is typed.
typed() {
    local options
    read -ra options <<<"${BENCH_OPTIONS-}"
    pinned "$memprof" run --force "${options[@]}" --output "$bench_folder/capture" -- "$@"
}
# The same without the summary at the end.
recorded() { BENCH_OPTIONS="--quiet ${BENCH_OPTIONS-}" typed "$@"; }
# The same without symbol names and without CPU samples, as heaptrack's --raw records.
bare() { pinned "$memprof" run --quiet --force --no-symbolize --no-cpu --output "$bench_folder/bare" -- "$@"; }
sampled() { pinned "$memprof" run --quiet --force --sample 512K --output "$bench_folder/sampled" -- "$@"; }
# Records a command with heaptrack into the file "heaptrack.zst".
by_heaptrack() { pinned heaptrack --output "$bench_folder/heaptrack" "$@"; }
raw_by_heaptrack() { pinned heaptrack --raw --output "$bench_folder/raw" "$@"; }

# Prints the capture's numbers that are not those of a single process, a line each: "totals.allocations 3210".
facts() {
    "$memprof" info --no-symbolize --json capture | awk '
        /^  "processes"/ { exit }
        /^  "[a-z_]*": \{/ { section = $1; gsub(/[":]/, "", section); section = section "."; next }
        /^  \}/ { section = "" }
        $2 ~ /^[0-9]+,?$/ { gsub(/[",:]/, ""); print section $1, $2 }'
}

# True if the first process made nearly all allocations of the capture: heaptrack records only that one.
is_one_process() {
    "$memprof" info --no-symbolize --json capture | awk '
        /^  "processes"/ { inside = 1 }
        inside && /^      "allocations"/ { count++; sum += $2; if (count == 1) first = $2 + 0 }
        END { exit !(first >= 0.99 * sum) }'
}

# trouble ALLOCATIONS: reads facts, and says why a recording must not be shown. It should have at least so many
# allocations.
trouble() {
    awk -v least="$1" '
        { fact[$1] = $2 }
        function no(name, words) {
            if (!(name in fact)) print "an unknown number of", words
            else if (fact[name] > 0) print fact[name], words
        }
        END {
            no("lost.events", "events lost")
            no("lost.gaps", "gaps")
            no("stacks.incomplete", "stacks incomplete")
            no("stacks.truncated", "stacks truncated")
            no("totals.conflicts", "frees without a record")
            no("overhead.agent_allocations", "allocations by the agent itself")
            if (fact["totals.allocations"] < least) print fact["totals.allocations"] + 0, "of", least, "allocations"
        }' | paste -sd, | sed 's/,/, /g'
}

# note KEY MODE: appends lines "what how_much" of its input to the file "numbers".
note() { awk -v key="$1" -v mode="$2" '{ print key, mode, $0 }' >>numbers; }

# summarize KEY PROGRAM [OPTION...]: runs awk on the numbers of one key. In it, median(MODE, WHAT) is the median over
# all rounds, or the least, and has(MODE, WHAT) tells whether there are any.
summarize() {
    local key=$1 program=$2
    shift 2
    awk -v key="$key" -v statistic="$statistic" "$@" '
        $1 == key { values[$2, $3, ++count[$2, $3]] = $4 }
        function has(mode, what) { return (mode, what) in count }
        function median(mode, what,    n, i, j, sorted, value) {
            n = count[mode, what]
            for (i = 1; i <= n; i++) {
                value = values[mode, what, i] + 0
                for (j = i - 1; j > 0 && sorted[j] > value; j--) sorted[j + 1] = sorted[j]
                sorted[j + 1] = value
            }
            return n == 0 ? 0 : statistic == "least" ? sorted[1] : sorted[int((n + 1) / 2)]
        }
        '"$program" numbers
}
