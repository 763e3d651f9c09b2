# shellcheck shell=bash
# What the frames of an interpreter cost, beside the same recordings with native frames only.

# functions_of_scripts [PYTHON]: a table of what Python does with functions. Times are those of the thread that runs.
functions_of_scripts() {
    local python=${1:-$(command -v python3)} rounds=${ROUNDS:-${quick:+3}} round mode way
    local script=$repository/tests/bench/scripts.py count=200000
    rounds=${rounds:-9}
    cat <<END_OF_HEAD

CPU ns of a round of a script, with every object from \`malloc\`: alone, recorded with native frames only, and with the
functions of the script; and the last as a ratio to the one before, round by round. $("$python" --version), medians of
$rounds rounds.

| | alone | native frames | functions, too | ratio |
|---|---|---|---|---|
END_OF_HEAD
    for ((round = 0; round < rounds; round++)); do
        for mode in alone $( ((round % 2)) && echo native both || echo both native); do
            run_script "$mode" "$python" "$script" "$count" >of_run
            while read -r way time; do echo "ns $time" | note "script/$way" "$mode"; done <of_run
        done
    done
    while read -r way _; do
        summarize "script/$way" '
            END {
                for (i = 1; i <= count["both", "ns"]; i++)
                    values["ratio", "ns", i] = values["both", "ns", i] / values["native", "ns", i]
                count["ratio", "ns"] = count["both", "ns"]
                printf "| %s | %.0f | %.0f | %.0f | **%.2f** |\n", way, median("alone", "ns"), median("native", "ns"),
                    median("both", "ns"), median("ratio", "ns")
            }' -v way="$way"
    done <of_run
}

run_script() {
    local mode=$1
    shift
    case $mode in
    alone) pinned env PYTHONMALLOC=malloc "$@" ;;
    native) BENCH_OPTIONS="--no-cpu --no-symbolize --no-interpreters" recorded env PYTHONMALLOC=malloc "$@" ;;
    both) BENCH_OPTIONS="--no-cpu --no-symbolize" recorded env PYTHONMALLOC=malloc "$@" ;;
    esac
}
