# shellcheck shell=bash
# The cost of looking at a large capture in a browser: the report, the page in the browser, and ranges from a server.

# Records a compiler that works for ten seconds.
record_many_stacks() {
    local cc1plus
    cc1plus=$(g++ -print-prog-name=cc1plus)
    g++ -std=c++20 -E -o many_stacks.ii "$repository/tests/bench/many_stacks.cpp"
    "$memprof" run --quiet --force --output capture -- "$cc1plus" -fpreprocessed -quiet -std=c++20 -O2 \
        -o many_stacks.s many_stacks.ii
}

# Prints how long a command takes, and its CPU time.
took() {
    local TIMEFORMAT='%R s (%U of CPU)'
    time "$@" >/dev/null 2>&1
}

page_and_server() {
    local capture browser name address server duration from to tries
    capture=${1:+$(realpath "$started_in/$1" 2>/dev/null || realpath "$1")}
    [[ $capture ]] || { record_many_stacks && capture=$PWD/capture; }
    "$memprof" info --no-symbolize "$capture" | grep -E '^  (events|different|duration) '
    rm -f report.html
    printf 'report made in '
    took "$memprof" html "$capture" --output report.html 2>&1
    printf 'its size: %s bytes\n' "$(stat -c %s report.html)"
    for name in chromium chromium-browser google-chrome; do
        browser=$(command -v "$name") && break
    done
    if [[ $browser ]] && command -v node >/dev/null; then
        node "$repository/tests/bench/page.mjs" "$browser" "$PWD/report.html"
    else
        echo 'the page in a browser: not measured, node or Chromium is not installed'
    fi

    setpriv --pdeathsig TERM "$memprof" serve "$capture" --no-browser 2>served &
    server=$!
    for ((tries = 0; tries < 500; tries++)); do
        address=$(grep -o 'http://[^ ]*' served) && break
        sleep 0.01
    done
    duration=$("$memprof" info --json --no-symbolize "$capture" | sed -n 's/^  "duration_ns": \([0-9]*\),$/\1/p')
    printf 'served: all of the time in %s s\n' "$(curl -s -o data -w '%{time_total}' "${address}data")"
    # Ranges of the time, in percent.
    while read -r from to; do
        printf 'served: from %s to %s %% in %s s\n' "$from" "$to" "$(curl -s -o data -w '%{time_total}' \
            "${address}data?from=$((duration / 100 * from))&to=$((duration / 100 * to))")"
    done <<'END_OF_RANGES'
1 2
50 51
10 30
85 95
30 70
2 98
END_OF_RANGES
    kill "$server"
    wait "$server" || true
}
