# shellcheck shell=bash
# The table of instructions, counted by valgrind: the same on the busiest machine, but blind to caches and branch
# prediction.

table_of_instructions() {
    local library=${1:-$agent} name collector pairs
    command -v valgrind >/dev/null || { echo "bench: valgrind counts instructions, and is not installed" >&2 && return 1; }
    cat <<'END_OF_HEAD'

Instructions of the agent for an allocation and its free, with 20 frames.

| program | instructions |
|---|---|
END_OF_HEAD
    for name in loop batch tree alternating all_new; do
        start_collector
        pairs=$(LD_PRELOAD=$library SYSPROF_MEMPROF_SOCKET=$PWD/socket valgrind --tool=callgrind \
            --callgrind-out-file=counts "./$name" 20 50000 4 2>errors | awk '/^pairs / { print $2 }')
        stop_collector
        # Costs are listed file by file and line by line; the line after "calls" has the cost of the callee once more.
        awk -v name="$name" -v pairs="$pairs" -v library="$library" '
            /^c?ob=/ {
                id = $1
                sub(/^c?ob=/, "", id)
                if (NF > 1) files[id] = $2
                if (/^ob=/) is_agent = files[id] == library
            }
            /^calls=/ { getline; next }
            /^[0-9+*-]/ && is_agent { all += $2 }
            END { printf "| %s | %.0f |\n", name, all / pairs }' counts
    done
}
