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
    cat >words.rb <<'END_OF_INPUT'
words = {}
200_000.times { |number| words["k#{number}"] = [number, "word #{number}" * 3] }
puts words.values.sort_by { |pair| pair[1] }.length
END_OF_INPUT
    cat >words.php <<'END_OF_INPUT'
<?php
$words = [];
for ($number = 0; $number < 200000; $number++) $words["k$number"] = [$number, "word $number"];
uasort($words, fn($left, $right) => strcmp($left[1], $right[1]));
echo count($words), "\n";
END_OF_INPUT
    cat >words.awk <<'END_OF_INPUT'
BEGIN {
    for (number = 0; number < 300000; number++) words["k" number] = "word " number * 3
    print asort(words)
}
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

# Notes how much memory a command takes in one mode, in a run of its own, since looking at it takes time.
hold_real() {
    local mode=$1 watched=("$bench_folder/resident" "$bench_folder/of_run")
    shift
    rm -f of_run
    "$@" >/dev/null 2>&1 </dev/null || return 0
    note "$key" "$mode" <of_run
}

# The first time no name is in the cache.
typed_first() {
    rm -rf "$XDG_CACHE_HOME"
    typed "$@"
}
# Shows numbers of heaptrack's file, as the summary does of a capture.
heaptrack_prints() { pinned heaptrack_print "$bench_folder/heaptrack.zst"; }

# row_of_real TITLE COMMAND...: measures a command and prints its rows.
row_of_real() {
    local title=$1 round rounds=${ROUNDS:-${quick:+1}} why="" key=${1%%[, ]*}
    rounds=${rounds:-3}
    shift
    [[ ! $wanted || " $wanted " == *" $key "* ]] || return 0
    command -v "$1" >/dev/null || { echo "| $title | not installed |" && return; }
    for ((round = 0; round < rounds; round++)); do
        rm -f capture heaptrack.* raw.*
        run_real alone pinned "$@" || { why="it fails by itself, $(cat exit_code)" && break; }
        run_real first typed_first "$@" || { why="recorded it fails, $(cat exit_code)" && break; }
        run_real again typed "$@" || { why="recorded it fails, $(cat exit_code)" && break; }
        facts >facts_of_run
        note "$key" again <facts_of_run
        stat -c 'size %s' capture | note "$key" again
        why=$(trouble 1 <facts_of_run)
        [[ ! $why ]] || break
        run_real quiet recorded "$@" || true
        run_real bare bare "$@" || true
        [[ ! $can_sample ]] || run_real sampled sampled "$@" || true
        hold_real alone pinned "$@"
        hold_real again typed "$@"
        hold_real bare bare "$@"
        [[ $has_heaptrack ]] && is_one_process || continue
        if run_real heaptrack by_heaptrack "$@"; then
            stat -c 'size %s' heaptrack.zst | note "$key" heaptrack
            run_real print heaptrack_prints || true
        fi
        run_real raw raw_by_heaptrack "$@" || true
        hold_real heaptrack by_heaptrack "$@"
        hold_real raw raw_by_heaptrack "$@"
    done
    [[ ! $why ]] || { echo "| $title | not shown: $why |" && return; }
    cells_of_real "$title"
}

# Prints a program's row of the first table, and keeps its rows of the others and its ratios for their medians.
cells_of_real() {
    summarize "$key" '
        function added(mode, what) { return median(mode, what) - median("alone", what) }
        function cell(mode, what, form) {
            if (has(mode, "failed")) return "fails"
            return has(mode, what) ? sprintf(form, added(mode, what) / (what == "memory" ? 1024 : 1)) : "–"
        }
        function shown(what) {
            return has("print", what) ? sprintf("%.2f", added("heaptrack", what) + median("print", what)) : "–"
        }
        # A ratio of two costs, if the lower one can be told from noise.
        function ratio(name, upper, lower, least) {
            if (lower > least) print name, upper / lower >>"ratios"
        }
        END {
            printf "| %s | %.2f | %.2f | %s | **%s** | %s | **%s** | %s | %s | %s | **%s** |\n", title,
                median("again", "totals.allocations") / 1e6, median("alone", "cpu"), cell("first", "cpu", "%.2f"),
                cell("again", "cpu", "%.2f"), cell("quiet", "cpu", "%.2f"), cell("bare", "cpu", "%.2f"),
                cell("sampled", "cpu", "%.2f"), cell("heaptrack", "cpu", "%.2f"), shown("cpu"), cell("raw", "cpu", "%.2f")
            printf "| %s | %.2f | %s | **%s** | **%s** | %s | %s | **%s** |\n", title, median("alone", "wall"),
                cell("first", "wall", "%.2f"), cell("again", "wall", "%.2f"), cell("bare", "wall", "%.2f"),
                cell("heaptrack", "wall", "%.2f"), shown("wall"), cell("raw", "wall", "%.2f") >>"walls"
            size = median("again", "size")
            printf "| %s | %.0f | **%s** | **%s** | %s | **%s** | %.2f | %s |\n", title,
                median("alone", "memory") / 1024, cell("again", "memory", "%.0f"), cell("bare", "memory", "%.0f"),
                cell("heaptrack", "memory", "%.0f"), cell("raw", "memory", "%.0f"), size / 1e6,
                has("heaptrack", "size") ? sprintf("%.2f", median("heaptrack", "size") / 1e6) : "–" >>"memories"
            ratio("summary share", added("again", "cpu") - added("quiet", "cpu"), added("again", "cpu"), 0.02)
            if (!has("raw", "cpu")) exit
            split("first again quiet bare heaptrack", modes, " ")
            for (i in modes) {
                ratio(modes[i] " cpu", added(modes[i], "cpu"), added("raw", "cpu"), 0.02)
                ratio(modes[i] " wall", added(modes[i], "wall"), added("raw", "wall"), 0.02)
                if (has(modes[i], "memory")) ratio(modes[i] " memory", added(modes[i], "memory"), added("raw", "memory"), 1024)
            }
            if (has("heaptrack", "cpu")) {
                ratio("again heaptrack_cpu", added("again", "cpu"), added("heaptrack", "cpu"), 0.02)
                ratio("again shown_cpu", added("again", "cpu"), added("heaptrack", "cpu") + median("print", "cpu"), 0.02)
                ratio("again heaptrack_memory", added("again", "memory"), added("heaptrack", "memory"), 1024)
            }
        }' -v title="$title"
}

head_of_real() {
    export XDG_CACHE_HOME=$bench_folder/cache
    rm -f ratios walls memories
    cat <<'END_OF_HEAD'

Whole programs. *First* and *again* are `run -o FILE -- COMMAND` as it is typed, with names, samples of the processor and
the summary at the end, without and with names in the cache; *quiet* is *again* without the summary. *Bare* leaves out
names and samples, too, as heaptrack's `--raw` does. *heaptrack* interprets what it gets, with names, and shows no
number; *shown* is that and `heaptrack_print`, which shows them.

CPU seconds that are added to those of the program alone: of all processes that take part, ours and heaptrack's too, from
start to complete file.

| program | M allocations | alone | first | again | quiet | bare | sampled | heaptrack | shown | --raw |
|---|---|---|---|---|---|---|---|---|---|---|
END_OF_HEAD
}

# Prints what the rows of the first table kept.
rest_of_real() {
    [[ -e walls ]] || return 0
    cat <<'END_OF_HEAD'

Seconds that pass in addition to those of the program alone.

| program | alone | first | again | bare | heaptrack | shown | --raw |
|---|---|---|---|---|---|---|---|
END_OF_HEAD
    cat walls
    cat <<'END_OF_HEAD'

MiB of memory that are added to those of the program alone, all processes together, at most; and MB of files.

| program | alone | again | bare | heaptrack | --raw | capture | heaptrack's |
|---|---|---|---|---|---|---|---|
END_OF_HEAD
    cat memories
    [[ -e ratios ]] || return 0
    echo
    echo "Medians over these programs, of what is added, as ratios to --raw:"
    echo
    echo "| | first | again | quiet | bare | heaptrack |"
    echo "|---|---|---|---|---|---|"
    local what mode
    for what in cpu wall memory; do
        printf '| %s |' "$what"
        for mode in first again quiet bare heaptrack; do printf ' %s |' "$(median_ratio "$mode $what")"; done
        echo
    done
    printf '\nOf what *again* adds, the summary is %s. ' "$(median_ratio "summary share")"
    printf 'Beside heaptrack it adds %s of the CPU time, %s of that with heaptrack_print, and %s of the memory.\n' \
        "$(median_ratio "again heaptrack_cpu")" "$(median_ratio "again shown_cpu")" "$(median_ratio "again heaptrack_memory")"
}

median_ratio() {
    sed -n "s/^$1 //p" ratios | sort -g | awk '
        { ratio[NR] = $1 }
        END { print NR ? sprintf("%.2f", (ratio[int((NR + 1) / 2)] + ratio[int(NR / 2) + 1]) / 2) : "–" }'
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
    row_of_real "perl" perl words.pl
    row_of_real "lua" lua words.lua
    row_of_real "ruby" ruby words.rb
    USE_ZEND_ALLOC=0 row_of_real "php, every object by malloc" php words.php
    row_of_real "gawk" gawk -f words.awk
    row_of_real "sqlite3" sqlite3 :memory: '.read words.sql'
    row_of_real "jq" jq -s 'map(.words[0]) | length' words.json
    row_of_real "xmllint" xmllint --noout words.xml
    row_of_real "cc1plus -O1" "$cc1plus" -fpreprocessed -quiet -O1 -o templates.s templates.ii
    row_of_real "clang++ -O1" clang++ -O1 -c -o templates.o templates.cpp
    row_of_real "g++ -O1 and the two it starts" g++ -O1 -c -o templates.o templates.cpp
    row_of_real "gdb" gdb -nx -batch -ex 'info functions alloc' "$(command -v gdb)"
    row_of_real "git log --stat" git -C "$repository" log --stat
    row_of_real "xz" xz -k -c -1 templates.ii
    row_of_real "ffmpeg" ffmpeg -v error -f lavfi -i testsrc=duration=1 -f null -
    # These do nothing but allocate: not what programs do, but the worst case.
    row_of_real "larson, 8 threads" ./larson 8 50
    BENCH_THREADS=8 row_of_real "threads, 8 in a tight loop" ./threads 20 10000000 1
    rest_of_real
}

table_of_command() {
    local wanted="" directory=$started_in
    head_of_real
    row_of_real "${*//|/\\|}" "$@"
    rest_of_real
}
