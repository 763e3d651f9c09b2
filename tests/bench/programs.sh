# shellcheck shell=bash
# The table of the small programs, which measure themselves: what recording adds to a single allocation and a free.
#
#   native      the program alone
#   hook        with a preloaded library that does nothing
#   dormant     with the agent, while nobody records
#   libunwind   with a preloaded library that takes stacks and forgets them
#   recorded    under run
#   bare        the same without CPU samples, which heaptrack does not take either
#   sampled     under run --sample 512K
#   heaptrack, raw

# Prints name, depth and pairs per round of each case; those with a fourth word use more than one processor. A quick
# run has only those of 20 frames.
cases() {
    cat <<'END_OF_CASES'
loop 5 100000
loop 20 100000
loop 60 100000
loop 200 50000
batch 5 100000
batch 20 100000
batch 60 100000
batch 200 50000
tree 20 100000
tree 60 100000
growing 20 100000
growing 60 100000
alternating 20 100000
alternating 60 100000
all_new 20 50000
all_new 60 50000
mix 20 10
mix 60 10
scattered 20 100000
threads 20 200000 spread
cross 20 100000
END_OF_CASES
}

# The cases of the programs that are named; all if none is.
chosen_cases() {
    cases | awk -v names=" $* " -v quick="$quick" '(names == "  " || index(names, " " $1 " ")) && (!quick || $2 == 20)'
}

# Runs a program and prints what it measured, by the statistic that counts.
self_measured() {
    "$@" 2>errors | awk -v statistic="$statistic" '
        /^(malloc|free|pair|wall) / { print $1, statistic == "least" ? $2 : $3 }
        /^(pairs|memory) / { print $1, $2 }' || { cat errors >&2 && return 1; }
}

# Runs a program once in every mode, and notes the results.
run_modes() {
    local key=$1
    shift
    # A short recording first: what the collector takes beyond it for a longer one is the cost of events.
    recorded "$@" 1 >/dev/null
    facts | note "$key" short
    set -- "$@" 5
    self_measured pinned "$@" | note "$key" native
    self_measured pinned env LD_PRELOAD=./empty_hook.so "$@" | note "$key" hook
    self_measured pinned env LD_PRELOAD="$agent" "$@" | note "$key" dormant
    [[ ! $has_libunwind ]] || self_measured pinned env LD_PRELOAD=./unwinding_hook.so "$@" | note "$key" libunwind
    self_measured recorded "$@" | note "$key" recorded
    {
        facts
        stat -c 'size %s' capture
    } >facts_of_run
    note "$key" recorded <facts_of_run
    self_measured bare "$@" | note "$key" bare
    [[ ! $can_sample ]] || self_measured sampled "$@" | note "$key" sampled
    [[ $has_heaptrack ]] || return 0
    self_measured by_heaptrack "$@" | note "$key" heaptrack
    stat -c 'size %s' heaptrack.zst | note "$key" heaptrack
    self_measured raw_by_heaptrack "$@" | note "$key" raw
}

# How many pairs a case measured in each run.
pairs_of() { awk -v key="$1" '$1 == key && $3 == "pairs" { print $4; exit }' numbers; }

# Prints a case's row of the first table, and keeps its row of the second. A pair is one allocation, except in
# programs where it is a round of many: the recording knows.
row_of_program() {
    local name=$1 depth=$2
    local helpers='
        function dash(is_there, text) { return is_there ? text : "–" }
        function number(value) { return sprintf(value < 99.95 ? "%.1f" : "%.0f", value) }
        function added(mode, what) {
            return dash(has(mode, what), number((median(mode, what) - median("native", what)) / each))
        }
        function ratio(upper, lower) { return dash(lower > 0, sprintf("%.2f", upper / lower)) }
        function wall(mode) { return dash(has(mode, "wall"), number(median(mode, "wall") / median("native", "wall"))) }
        function over_native(mode) { return median(mode, "pair") - median("native", "pair") }
        function memory(mode) { return dash(has(mode, "memory"), number(median(mode, "memory") / 1024)) }
        END { each = median("recorded", "totals.allocations") / median("native", "pairs") }'
    summarize "$name/$depth" "$helpers"'
        END {
            printf "| %s %d | %s | %s | %s | %s | %s | %s | **%s** | %s | %s | %s | %s | %s |\n", name, depth,
                number(median("native", "pair") / each), added("hook", "pair"), added("dormant", "pair"),
                added("libunwind", "pair"), added("bare", "malloc"), added("bare", "free"), added("bare", "pair"),
                added("recorded", "pair"), added("sampled", "pair"), added("heaptrack", "pair"), added("raw", "pair"),
                ratio(over_native("bare"), over_native("heaptrack"))
        }' -v name="$name" -v depth="$depth"
    summarize "$name/$depth" "$helpers"'
        END {
            events = median("recorded", "events")
            collector = (median("recorded", "overhead.collector_cpu_ns") - median("short", "overhead.collector_cpu_ns")) / \
                (events - median("short", "events"))
            printf "| %s %d | **%s** | %s | %.2f | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", name, depth,
                wall("recorded"), wall("heaptrack"), events / 1e6, sprintf("%.3f", median("recorded", "size") / events),
                dash(has("heaptrack", "size"), sprintf("%.3f", median("heaptrack", "size") / events)),
                ratio(median("recorded", "size"), median("heaptrack", "size")), number(collector),
                number(1000 / collector), number(median("recorded", "overhead.wait_ns") / 1e6),
                memory("native"), memory("recorded"), memory("heaptrack"),
                number(median("recorded", "overhead.collector_peak_rss") / 1048576)
        }' -v name="$name" -v depth="$depth" >>beside
}

table_of_programs() {
    local rounds=${ROUNDS:-${quick:+1}} name depth pairs spread round why
    rounds=${rounds:-3}
    cat <<'END_OF_HEAD'

CPU time inside the program, ns. *native* is an allocation and its free; the others are added to that by a preloaded
library that does nothing (*hook*), by the agent while nobody records (*dormant*), by libunwind's `unw_backtrace` alone,
and by recording. *malloc*, *free* and *both* are without CPU samples, which heaptrack does not take either;
*with CPU* is both with them. The last column is ours : heaptrack's. heaptrack keeps 64 frames of a stack, so its figures
for 200 are those for 64.

| program, frames | native | hook | dormant | libunwind | malloc | free | both | with CPU | sampled | heaptrack | its --raw | ratio |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
END_OF_HEAD
    while read -r name depth pairs spread; do
        # Single-threaded programs stay on the first processor, which leaves the other one to what records them.
        export BENCH_CPU=${cores%%[,-]*}
        [[ ! $spread ]] || unset BENCH_CPU
        why=""
        for ((round = 0; round < rounds; round++)); do
            run_modes "$name/$depth" "./$name" "$depth" "$pairs"
            [[ $why ]] || why=$(trouble "$(pairs_of "$name/$depth")" <facts_of_run)
        done
        if [[ $why ]]; then
            echo "| $name $depth | not shown: $why |"
        else
            row_of_program "$name" "$depth"
        fi
    done < <(chosen_cases "$@")
    unset BENCH_CPU
    [[ -e beside ]] || return 0
    cat <<'END_OF_HEAD'

Beside it. Times on the wall are those of the loop, as a ratio to *native*. An event is an allocation or a free. *drained*
is what one processor can do by the collector's CPU time for an event, without that for starting and ending; *waited* is
the time that threads had to wait for room; memory, in MiB, is what was resident at most.

| program, frames | wall | heaptrack's | M events | bytes/event | heaptrack's | file : its file | collector, ns/event | drained, M/s | waited, ms | native | recorded | by heaptrack | collector |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
END_OF_HEAD
    cat beside
}
