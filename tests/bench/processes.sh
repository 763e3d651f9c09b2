# shellcheck shell=bash
# What recording costs where programs start thousands of short processes, and where thousands of others sleep.

# Runs the command of a row in a mode, and notes what it took. heaptrack records only a program's first process, so it
# has no mode here.
run_processes() {
    case $1 in
    alone) pinned "${@:2}" >of_run 2>errors ;;
    recorded) recorded "${@:2}" >of_run 2>errors ;;
    bare) bare "${@:2}" >of_run 2>errors ;;
    esac || { cat errors >&2 && return 1; }
    note "$key" "$1" <of_run
}

# row_of_processes KEY TITLE PROCESSES SLEEPERS RUNS COMMAND...: a row; a run of the command starts so many processes.
row_of_processes() {
    local key=$1 title=$2 processes=$3 sleepers=$4 runs=$5 round mode
    shift 5
    for ((round = 0; round < ${ROUNDS:-3}; round++)); do
        for mode in alone recorded bare; do
            run_processes "$mode" "$bench_folder/processes" "$sleepers" "$runs" "$@"
        done
    done
    summarize "$key" '
        function ratio(mode, what) { return median(mode, what) / median("alone", what) }
        END {
            all = processes * runs
            printf "| %s | %.2f ms | %.2f | %.2f | %.2f ms | %.2f | %.2f | %.2f ms | %.2f ms |\n", title,
                median("alone", "wall") / all, ratio("recorded", "wall"), ratio("bare", "wall"),
                median("alone", "cpu") / all, ratio("recorded", "cpu"), ratio("bare", "cpu"),
                median("recorded", "collector") / all, median("bare", "collector") / all
        }' -v title="$title" -v processes="$processes" -v runs="$runs"
}

# many_processes: wall and CPU time of commands, alone and recorded, and CPU time of the collector.
many_processes() {
    local number loop='for i in $(seq 2000); do /bin/true; done'
    cc -D_GNU_SOURCE -O2 -o processes "$repository/tests/bench/processes.c"
    mkdir sources
    for number in {1..200}; do echo "int f(int n) { return n * $number; }" >"sources/$number.c"; done
    printf 'all: $(patsubst %%.c,%%.o,$(wildcard *.c))\n%%.o: %%.c\n\t@cc -c $<\n' >sources/Makefile
    printf '\nFor each process (medians of %s rounds); last without samples of the CPU (`--no-cpu`):\n\n' "${ROUNDS:-3}"
    printf '| | wall | recorded | `--no-cpu` | CPU | recorded | `--no-cpu` | collector | `--no-cpu` |\n'
    printf '|---|---|---|---|---|---|---|---|---|\n'
    row_of_processes shell '2,000 `true` of a shell' 2000 0 1 sh -c "$loop"
    row_of_processes make '`make -j2` of 200 files' 600 0 1 make --silent --always-make -j2 -C "$bench_folder/sources"
    row_of_processes sleepers '500 `true` beside 1,000 that sleep' 1 1000 500 /bin/true
}
