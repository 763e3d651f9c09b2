# shellcheck shell=bash
# The table of two agents, for tuning: both record the same programs in turn, round after round.

# Starts a collector that programs find by the file "socket"; `stop_collector` ends it, and so does the end of this
# shell, should a step fail: pipes run in shells of their own, which know nothing of a trap.
start_collector() {
    local tries
    rm -f socket
    # Not by `pinned`: the signal would go to its shell.
    setpriv --pdeathsig TERM taskset -c "$cores" "$memprof" record --quiet --force --no-symbolize --on-full block \
        --max-wait 10s --listen socket --output capture &
    collector=$!
    for ((tries = 0; tries < 500; tries++)); do
        [[ ! -S socket ]] || break
        sleep 0.01
    done
}

stop_collector() {
    kill -INT "$collector"
    wait "$collector"
}

# Runs a program with this agent and a collector of its own, and prints what it measured.
with_agent() {
    local library=$1 collector
    shift
    start_collector
    self_measured pinned env LD_PRELOAD="$library" SYSPROF_MEMPROF_SOCKET="$PWD/socket" "$@"
    stop_collector
}

table_of_agents() {
    local rounds=${ROUNDS:-${quick:+3}} name depth pairs spread round why mode
    local -A agents=([first]=$1 [second]=$2)
    rounds=${rounds:-9}
    shift 2
    (($#)) || set -- batch tree alternating all_new mix
    cat <<'END_OF_HEAD'

CPU ns inside the program that recording by the first agent and by the second adds to the program alone, for an
allocation, a free, and both; and the second as a ratio to the first, of both, round by round.

| program, frames | native | first: malloc | free | both | second: malloc | free | both | ratio |
|---|---|---|---|---|---|---|---|---|
END_OF_HEAD
    while read -r name depth pairs spread; do
        export BENCH_CPU=${cores%%[,-]*}
        [[ ! $spread ]] || unset BENCH_CPU
        why=""
        for ((round = 0; round < rounds; round++)); do
            self_measured pinned "./$name" "$depth" "$pairs" 9 | note "$name/$depth" native
            # The second one finds a warmer machine, so they take turns in that, too.
            for mode in $( ((round % 2)) && echo second first || echo first second); do
                with_agent "${agents[$mode]}" "./$name" "$depth" "$pairs" 9 | note "$name/$depth" "$mode"
                facts >facts_of_run
                note "$name/$depth" "$mode" <facts_of_run
                [[ $why ]] || why=$(trouble "$(pairs_of "$name/$depth")" <facts_of_run)
            done
        done
        if [[ $why ]]; then
            echo "| $name $depth | not shown: $why |"
        else
            row_of_agents "$name" "$depth"
        fi
    done < <(chosen_cases "$@")
    unset BENCH_CPU
}

row_of_agents() {
    summarize "$1/$2" '
        function added(mode, what) {
            return has(mode, what) ? sprintf("%.1f", (median(mode, what) - median("native", what)) / each) : "–"
        }
        END {
            each = median("first", "totals.allocations") / median("native", "pairs")
            for (i = 1; i <= count["first", "pair"]; i++) {
                first = values["first", "pair", i] - median("native", "pair")
                second = values["second", "pair", i] - median("native", "pair")
                values["ratio", "pair", i] = second / first
                count["ratio", "pair"] = i
            }
            statistic = "median"
            printf "| %s %d | %.1f | %s | %s | %s | %s | %s | %s | **%.3f** |\n", name, depth,
                median("native", "pair") / each, added("first", "malloc"), added("first", "free"),
                added("first", "pair"), added("second", "malloc"), added("second", "free"), added("second", "pair"),
                median("ratio", "pair")
        }' -v name="$1" -v depth="$2"
}
