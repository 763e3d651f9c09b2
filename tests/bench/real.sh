# shellcheck shell=bash
# The table of real programs: the whole cost of running them recorded.

# Writes the programs' inputs.
write_inputs() {
    cat >words.py <<'END_OF_INPUT'
words = {}
for number in range(200_000):
    words[str(number)] = [number, str(number * 3)]
print(len(sorted(words.values(), key=lambda pair: pair[1])))
END_OF_INPUT
    cat >words.pl <<'END_OF_INPUT'
my %words;
$words{"k$_"} = [$_, "v" x ($_ % 50)] for 1 .. 200_000;
print scalar(sort { $a->[1] cmp $b->[1] } values %words), "\n";
END_OF_INPUT
    cat >words.lua <<'END_OF_INPUT'
local words = {}
for number = 1, 200000 do words[number] = {number, "word " .. number} end
table.sort(words, function(a, b) return a[2] < b[2] end)
print(#words)
END_OF_INPUT
    cat >templates.cpp <<'END_OF_INPUT'
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <unordered_map>
int main() {
    std::map<std::string, std::unordered_map<int, std::string>> words;
    std::regex even("[02468]$");
    for (int i = 0; i < 10; ++i) words[std::regex_replace(std::to_string(i), even, "")][i] = "x";
    for (auto& [name, inner] : words) std::cout << name << inner.size() << '\n';
}
END_OF_INPUT
    {
        echo 'create table words(id integer primary key, word text); begin;'
        seq 200000 | sed 's/.*/insert into words values(&, "word &");/'
        echo 'commit; create index by_word on words(word); select count(*) from words where word like "%7%";'
    } >words.sql
    seq 30000 | sed 's/.*/{"id":&,"words":["a&","b&","c&"]}/' >words.json
    {
        echo '<words>'
        seq 60000 | sed 's/.*/<word id="&">word <b>&<\/b><\/word>/'
        echo '</words>'
    } >words.xml
}

# Prints the wall and CPU seconds of a command with all processes that it started and waited for; its exit code,
# unless 0, goes to the file "exit_code".
seconds() {
    local TIMEFORMAT='%R %U %S'
    { time { "$@" >/dev/null 2>&1 </dev/null || echo "exit $?" >&3; }; } 2>&1 3>exit_code |
        awk '{ print "wall", $1; print "cpu", $2 + $3 }'
}

# Measures a command in one mode. If the command fails, notes only that, and fails.
run_real() {
    local mode=$1
    shift
    seconds "$@" >of_run
    if [[ -s exit_code ]]; then
        echo "failed 1" | note "$key" "$mode"
        return 1
    fi
    note "$key" "$mode" <of_run
}

# row_of_real TITLE COMMAND...: measures a command and prints its row.
row_of_real() {
    local title=$1 round rounds=${ROUNDS:-${quick:+1}} why="" key=${1%%[, ]*}
    rounds=${rounds:-3}
    shift
    [[ ! $wanted || " $wanted " == *" $key "* ]] || return 0
    command -v "$1" >/dev/null || { echo "| $title | not installed |" && return; }
    for ((round = 0; round < rounds; round++)); do
        rm -f capture heaptrack.* raw.*
        run_real alone pinned "$@" || { why="it fails by itself, $(cat exit_code)" && break; }
        run_real recorded recorded "$@" || { why="recorded it fails, $(cat exit_code)" && break; }
        facts >facts_of_run
        note "$key" recorded <facts_of_run
        stat -c 'size %s' capture | note "$key" recorded
        why=$(trouble 1 <facts_of_run)
        [[ ! $why ]] || break
        run_real bare bare "$@" || true
        [[ ! $can_sample ]] || run_real sampled sampled "$@" || true
        [[ $has_heaptrack ]] && is_one_process || continue
        if run_real heaptrack by_heaptrack "$@"; then stat -c 'size %s' heaptrack.zst | note "$key" heaptrack; fi
        run_real raw raw_by_heaptrack "$@" || true
    done
    [[ ! $why ]] || { echo "| $title | not shown: $why |" && return; }
    summarize "$key" '
        function ratio(mode, what) {
            if (has(mode, "failed")) return "fails"
            return has(mode, what) ? sprintf("%.2f", median(mode, what) / median("alone", what)) : "–"
        }
        END {
            size = median("recorded", "size")
            printf "| %s | %.2f | %.2f s | **%s** | **%s** | %s | %s | %s | %.2f s | **%s** | %s | %.2f | %s | %.0f |\n", title,
                median("recorded", "totals.allocations") / 1e6, median("alone", "cpu"), ratio("recorded", "cpu"),
                ratio("bare", "cpu"), ratio("sampled", "cpu"), ratio("heaptrack", "cpu"), ratio("raw", "cpu"), median("alone", "wall"),
                ratio("recorded", "wall"), ratio("heaptrack", "wall"), size / 1e6,
                has("heaptrack", "size") ? sprintf("%.1f", size / median("heaptrack", "size")) : "–",
                median("recorded", "overhead.collector_peak_rss") / 1048576
        }' -v title="$title"
}

head_of_real() {
    cat <<'END_OF_HEAD'

Whole programs, each as a ratio to the program alone. CPU times count all processes that take part, ours and heaptrack's
too, from start to complete file. Bare is what compares with --raw: without names and without CPU samples.

| program | M allocations | CPU alone | recorded | bare | sampled | heaptrack | its --raw | wall alone | recorded | heaptrack | capture, MB | : heaptrack's | collector, MiB |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
END_OF_HEAD
}

table_of_real_programs() {
    local wanted=$* cc1plus python
    write_inputs
    # A single process, unlike the compiler's driver, and so comparable with heaptrack's figure.
    cc1plus=$(g++ -print-prog-name=cc1plus 2>/dev/null || echo cc1plus)
    ! command -v g++ >/dev/null || g++ -E -o templates.ii templates.cpp
    # Debian's, rather than the launcher script of a version manager.
    python=$([[ -x /usr/bin/python3 ]] && echo /usr/bin/python3 || echo python3)
    head_of_real
    PYTHONMALLOC=malloc row_of_real "python3, every object by malloc" "$python" words.py
    row_of_real "cc1plus -O1" "$cc1plus" -fpreprocessed -quiet -O1 -o templates.s templates.ii
    row_of_real "g++ -O1 and the two it starts" g++ -O1 -c -o templates.o templates.cpp
    row_of_real "sqlite3" sqlite3 :memory: '.read words.sql'
    row_of_real "perl" perl words.pl
    row_of_real "jq" jq -s 'map(.words[0]) | length' words.json
    row_of_real "xmllint" xmllint --noout words.xml
    row_of_real "lua" lua words.lua
    row_of_real "gdb" gdb -nx -batch -ex 'info functions alloc' "$memprof"
    row_of_real "ffmpeg" ffmpeg -v error -f lavfi -i testsrc=duration=1 -f null -
    row_of_real "git log --stat" git -C "$repository" log --stat
    # These do nothing but allocate: not what programs do, but the worst case.
    row_of_real "larson, 8 threads" ./larson 8 50
    BENCH_THREADS=8 row_of_real "threads, 8 in a tight loop" ./threads 20 10000000 1
}

table_of_command() {
    local wanted="" directory=$started_in
    head_of_real
    row_of_real "${*//|/\\|}" "$@"
}
