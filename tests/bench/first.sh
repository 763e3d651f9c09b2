# shellcheck shell=bash
# The time of a thread's first allocation, in which it gets its ring, without asking anybody.

# first_calls [THREADS]: a row for each mode, with the medians of all rounds.
first_calls() {
    local threads=${1:-2000} rounds=${ROUNDS:-5} round mode
    cc -D_GNU_SOURCE -O2 -pthread -o first "$repository/tests/bench/first.c"
    for ((round = 0; round < rounds; round++)); do
        pinned "$bench_folder/first" "$threads" | note first native
        pinned env LD_PRELOAD="$agent" "$bench_folder/first" "$threads" | note first dormant
        recorded "$bench_folder/first" "$threads" | note first recorded
    done
    printf '\nThe first allocation of each of %s threads, microseconds (medians of %s runs):\n\n' "$threads" "$rounds"
    printf '| | median | 99 %% of them within | longest |\n|---|---|---|---|\n'
    for mode in native dormant recorded; do
        summarize first 'END { printf "| %s | %.1f | %.1f | %.1f |\n", mode, median(mode, "median"), median(mode, "p99"), median(mode, "most") }' -v mode="$mode"
    done
}
