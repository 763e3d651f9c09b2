# shellcheck shell=bash
# The cost of reading a large capture, beside that of heaptrack's programs for its own recording of the same program.

# looked WHAT COMMAND...: runs a command and prints its row.
looked() {
    local what=$1 seconds memory="" TIMEFORMAT=%R
    shift
    # Writing back the capture's dirty pages is not the reader's cost.
    sync
    if [[ $(type -P time) ]]; then
        command time -f '%e %M' -o looked "$@" >/dev/null 2>&1
    else
        { time "$@" >/dev/null 2>&1; } 2>looked
    fi
    read -r seconds memory <looked || true
    printf '| %s | %s | %s |\n' "$what" "$seconds" "${memory:+$((memory / 1024))}"
}

# looks [PAIRS]: allocations from some thousand stacks.
looks() {
    local pairs=${1:-50000000} file cache=$bench_folder/cache
    export XDG_CACHE_HOME=$cache
    recorded "$bench_folder/tree" 20 $((pairs / 500)) 500 >/dev/null
    "$memprof" info --no-symbolize --no-cache capture | grep -E '^  (events|distinct|different|duration) '
    printf 'capture: %s MB' "$(megabytes capture)"
    file=""
    if [[ $has_heaptrack ]]; then
        raw_by_heaptrack "$bench_folder/tree" 20 $((pairs / 500)) 500 >/dev/null
        file=$(ls raw*)
        printf ', heaptrack --raw: %s MB' "$(megabytes "$file")"
    fi
    printf '\n\n| | seconds | memory, MiB |\n|---|---|---|\n'
    looked 'first look (`report`)' "$memprof" report capture
    looked 'later looks' "$memprof" report capture
    looked '`report --at 50%`' "$memprof" report capture --at 50%
    looked '`report --at peak`' "$memprof" report capture --at peak
    looked '`diff --from 30% --to 70%`' "$memprof" diff capture --from 30% --to 70%
    if [[ $file ]]; then
        looked '`heaptrack_interpret`' sh -c "zstd -dc '$file' | $(interpreter) | zstd -q -f -o interpreted.zst"
        looked '`heaptrack_print`' heaptrack_print interpreted.zst
    fi
}

megabytes() { stat -c %s "$1" | awk '{ printf "%.1f", $1 / 1e6 }'; }

# The second half of heaptrack, where its package puts it.
interpreter() { find /usr/lib /usr/libexec -name heaptrack_interpret -type f 2>/dev/null | head -1; }
