# shellcheck shell=bash
# What a short program costs when it is recorded as a user types it: with names, CPU samples and the summary.

# Runs a command so many times in a mode, and notes what a run took on the clock and of the processors.
run_short() {
    local mode=$1 runs=$2 run=("${@:3}") record=("$memprof" run --force --output "$bench_folder/capture" --)
    case $mode in
    alone) ;;
    warm) run=(env XDG_CACHE_HOME="$bench_folder/warm" "${record[@]}" "${run[@]}") ;;
    cold)
        rm -rf "$bench_folder/cold"
        run=(env XDG_CACHE_HOME="$bench_folder/cold" "${record[@]}" "${run[@]}")
        runs=1
        ;;
    heaptrack) run=(heaptrack --raw --output "$bench_folder/raw" "${run[@]}") ;;
    esac
    pinned "$bench_folder/processes" 0 "$runs" "${run[@]}" >of_run 2>errors || { cat errors >&2 && return 1; }
    awk -v runs="$runs" '/^(wall|cpu) / { print $1, $2 / runs }' of_run | note "$key" "$mode"
}

# row_of_short KEY TITLE COMMAND...: a row of the table.
row_of_short() {
    local key=$1 title=$2 round mode modes=(alone cold warm)
    shift 2
    [[ ! $has_heaptrack ]] || modes+=(heaptrack)
    # Fills the cache, and brings all files into memory.
    run_short warm 1 "$@"
    sed -i "/^$key /d" numbers
    for ((round = 0; round < ${ROUNDS:-9}; round++)); do
        for mode in "${modes[@]}"; do run_short "$mode" 3 "$@"; done
    done
    summarize "$key" '
        function cell(mode) { return has(mode, "wall") ? sprintf("%.1f, %.1f", median(mode, "wall"), median(mode, "cpu")) : "" }
        END { printf "| %s | %s | %s | %s | %s |\n", title, cell("alone"), cell("cold"), cell("warm"), cell("heaptrack") }
    ' -v title="$title"
}

# short_programs: a table of programs that do next to nothing.
short_programs() {
    cc -D_GNU_SOURCE -O2 -o processes "$repository/tests/bench/processes.c"
    printf '\nA run as it is typed, milliseconds on the clock, then of the processors (medians of %s rounds, all in turn);\n' \
        "${ROUNDS:-9}"
    printf 'cold is with an empty cache folder, warm with that of the run before; heaptrack only with `--raw`:\n\n'
    printf '| | alone | cold | warm | heaptrack |\n|---|---|---|---|---|\n'
    row_of_short true '`true`' /bin/true
    row_of_short shell '`sh -c true`' /bin/sh -c true
    ! command -v python3 >/dev/null || row_of_short python3 "\`python3 -c 'print(1)'\`" python3 -c 'print(1)'
}
