# shellcheck shell=bash
# The cost of exporting a large capture to each format.

# exports [CAPTURE]: by default a capture of a compiler.
exports() {
    local capture format
    capture=${1:+$(realpath "$started_in/$1" 2>/dev/null || realpath "$1")}
    [[ $capture ]] || { record_many_stacks && capture=$PWD/capture; }
    "$memprof" info --no-symbolize "$capture" | grep -E '^  (events|different|duration) '
    printf 'capture: %s MB\n\n| format | seconds | memory, MiB | size, MB |\n|---|---|---|---|\n' "$(megabytes "$capture")"
    printf '%s %s\n' "$(looked 'none (`info`)' "$memprof" info "$capture")" '|'
    for format in $("$memprof" export --help | grep -oE '^ +- [a-z-]+:' | tr -d ' :' | sed 's/^-//'); do
        rm -rf exported
        printf '%s %s |\n' "$(looked "\`$format\`" "$memprof" export "$capture" --format "$format" --output exported)" \
            "$(du -sb exported | awk '{ printf "%.1f", $1 / 1e6 }')"
    done
    rm -rf exported
}
