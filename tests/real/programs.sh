# shellcheck shell=bash
# What `scripts/real-programs` runs: each function is a program at work, in an empty folder, that prints the same each
# time. `needs` says what must be installed. Servers listen on sockets in the folder and end before the function does.

needs_python="python3"
real_python() { # threads, processes, subprocesses: parts of its own test suite, which ends with 0 only when all is right
    python3 -m test -q test_threading test_thread test_queue test_subprocess test_concurrent_futures \
        --ignore test_interrupted_crlf >log 2>&1
    local code=$?
    tail -1 log
    return $code
}

needs_python_multiprocessing="python3"
real_python_multiprocessing() { # a pool by fork, one by spawn, shared memory
    cat >pool.py <<'END_OF_INPUT'
import multiprocessing as m
def work(n): return sum(len(str(i)) for i in range(n))
if __name__ == '__main__':
    for way in 'fork', 'spawn', 'forkserver':
        with m.get_context(way).Pool(3) as pool:
            print(way, sum(pool.map(work, range(200))))
END_OF_INPUT
    python3 pool.py
}

needs_perl="perl"
real_perl() { # forks with pipes, regular expressions, a large hash
    perl -e 'my %w; $w{"k$_"} = [$_, "v" x ($_ % 50)] for 1..50000;
        for my $n (1..20) { my $pid = open(my $p, "-|"); if ($pid == 0) { print $n * 2, "\n"; exit 0 } print <$p>; close $p }
        print scalar(sort { $a->[1] cmp $b->[1] } values %w), "\n"' 2>/dev/null
}

needs_ruby="ruby"
real_ruby() { # threads, fork, exceptions, the garbage collector
    ruby -e 'a = (1..4).map { |n| Thread.new { (1..20000).map { |i| "#{n} #{i}" }.sort.size } }.map(&:value); p a
        p (1..5).map { |n| r, w = IO.pipe; pid = fork { w.puts n * n }; w.close; Process.wait pid; r.read.to_i }
        begin; raise "no"; rescue => e; puts e.message; end; GC.start; puts `echo sub`'
}

needs_node="node"
real_node() { # compiled code, worker threads, child processes
    cat >work.js <<'END_OF_INPUT'
const { Worker, isMainThread, parentPort } = require('worker_threads');
if (isMainThread) {
    let done = 0, sum = 0;
    for (let i = 0; i < 4; i++) new Worker(__filename).on('message', n => { sum += n; if (++done == 4) console.log(sum); });
    console.log(require('child_process').execSync('echo from a child').toString().trim());
} else {
    const a = []; for (let i = 0; i < 100000; i++) a.push({ i, s: 'x' + i });
    parentPort.postMessage(JSON.stringify(a).length);
}
END_OF_INPUT
    node work.js
}

needs_java="java"
real_java() { java -version 2>&1; }

needs_javac="javac java"
real_javac() { # a compiler in Java, threads, and a program of its making that starts another
    cat >Main.java <<'END_OF_INPUT'
import java.util.stream.*;
public class Main {
    public static void main(String[] a) throws Exception {
        System.out.println(IntStream.range(0, 200000).parallel().mapToObj(i -> "w" + i % 1000).distinct().count());
        Process p = new ProcessBuilder("echo", "from a child").inheritIO().start();
        System.out.println(p.waitFor());
    }
}
END_OF_INPUT
    javac Main.java && java -cp . Main
}

needs_git="git"
real_git() { # commits, then threads that pack
    export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e
    export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
    git init --quiet -b main tree && cd tree || return
    for i in $(seq 20); do
        seq "$i" 2000 >"file$i"
        git add . && git commit --quiet -m "change $i"
    done
    git gc --quiet --aggressive --prune=now && git fsck --no-progress && git log --format=%H | tail -1 && git count-objects
}

needs_cargo="cargo"
real_cargo() { # rustc brings its own allocator
    cargo init --quiet --offline --vcs none --name small crate 2>/dev/null && cd crate || return
    cargo build --quiet --offline && cargo run --quiet --offline
}

needs_make="make g++"
real_make() { # compilers side by side
    for i in 1 2 3 4; do
        printf '#include <map>\n#include <string>\nint f%d() { std::map<std::string,int> m; m["a"]=%d; return m.size(); }\n' $i $i >f$i.cpp
    done
    printf '#include <cstdio>\nint f1(),f2(),f3(),f4(); int main() { printf("%%d\\n", f1()+f2()+f3()+f4()); }\n' >main.cpp
    printf 'app: f1.o f2.o f3.o f4.o main.o\n\tg++ -o $@ $^\n%%.o: %%.cpp\n\tg++ -O1 -c -o $@ $<\n' >Makefile
    make -s -j4 && ./app
}

needs_sqlite="sqlite3"
real_sqlite() {
    sqlite3 it.db 'create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n limit 50000)
        insert into t select i * 7 % 1001, hex(i) from n; create index x on t(a); select count(distinct a), sum(a), max(b) from t;
        delete from t where a > 500; vacuum; pragma integrity_check; select count(*) from t;'
}

needs_redis="redis-server redis-cli redis-benchmark"
real_redis() { # its own jemalloc, threads, a fork that saves under load
    redis-server --port 0 --unixsocket "$PWD/s" --save '' --daemonize no --io-threads 2 >log 2>&1 &
    local server=$!
    until redis-cli -s s ping 2>/dev/null | grep -q PONG; do sleep 0.05; done
    # Its threads spin while they wait for each other: on a busy machine each request takes as long as others let it.
    redis-benchmark -s s -c 20 -n 5000 -r 1000 -t set,get,lpush,zadd -q >/dev/null
    redis-cli -s s set key value
    redis-cli -s s bgsave >/dev/null
    until redis-cli -s s info persistence | grep -q 'rdb_bgsave_in_progress:0'; do sleep 0.05; done
    redis-cli -s s info persistence | grep -o 'rdb_last_bgsave_status:[a-z]*'
    redis-cli -s s get key
    redis-cli -s s shutdown nosave
    wait $server
    echo "ended with $?"
}

needs_postgres="initdb pg_ctl pgbench psql"
real_postgres() { # forks a process for each connection; refuses to run as root
    initdb -D data -A trust --no-sync >log 2>&1 || { tail -3 log; return 1; }
    pg_ctl -D data -w -s -l serverlog -o "-k $PWD -c listen_addresses='' -c fsync=off" start || return
    pgbench -h "$PWD" -i -s 1 -q postgres >/dev/null 2>&1
    pgbench -h "$PWD" -c 4 -j 2 -t 100 postgres 2>/dev/null | grep 'transactions actually'
    psql -h "$PWD" -At -c 'select count(*) from pgbench_accounts' postgres
    pg_ctl -D data -w -s stop
    echo "ended with $?"
}

needs_nginx="nginx curl"
real_nginx() { # a daemon with workers
    mkdir -p html logs && echo 'a page' >html/index.html
    cat >nginx.conf <<END_OF_INPUT
pid $PWD/nginx.pid; error_log $PWD/error.log; worker_processes 2; daemon on; lock_file $PWD/lock;
events { worker_connections 64; }
http { access_log off; client_body_temp_path $PWD/b; proxy_temp_path $PWD/p; fastcgi_temp_path $PWD/f; uwsgi_temp_path $PWD/u;
    scgi_temp_path $PWD/s; server { listen unix:$PWD/socket; root $PWD/html; } }
END_OF_INPUT
    nginx -c "$PWD/nginx.conf" -p "$PWD" 2>/dev/null || return
    for _ in $(seq 100); do curl -s --unix-socket socket http://localhost/; done | sort | uniq -c
    nginx -c "$PWD/nginx.conf" -p "$PWD" -s quit 2>/dev/null
    while [[ -e nginx.pid ]]; do sleep 0.05; done
}

needs_ffmpeg="ffmpeg"
real_ffmpeg() { # threads and hand-written machine code
    ffmpeg -v error -f lavfi -i testsrc=duration=2:size=160x120:rate=10 -c:v mpeg4 -threads 4 -bitexact -y it.avi &&
        ffmpeg -v error -i it.avi -f md5 -
}

needs_imagemagick="convert"
real_imagemagick() { convert -size 200x200 gradient:red-blue -blur 0x3 -resize 50% it.png && convert it.png -format '%wx%h %#\n' info:; }

needs_gdb="gdb cc"
real_gdb() { # starts a program by a shell, and traces it
    printf 'int f(int n) { return n * 2; }\nint main(void) { return f(21) != 42; }\n' >it.c && cc -g -o it it.c || return
    gdb --batch -nx -ex 'set debuginfod enabled off' -ex 'break f' -ex run -ex 'print n' -ex finish -ex continue ./it 2>/dev/null |
        sed -nE 's/process [0-9]+/process N/; /exited|= /p'
}

needs_bash="bash"
real_bash() { # a thousand forks
    local sum=0 i
    for ((i = 0; i < 1000; i++)); do sum=$((sum + $(echo "$i"))); done
    echo $sum
    for i in 1 2 3; do (echo "sub $i"; exit "$i") | cat; echo "${PIPESTATUS[0]}"; done
}

needs_tar="tar xz"
real_tar() { seq 100000 >data && tar --mtime=2020-01-01 --owner=0 --group=0 -c data | xz -T2 -1 | xz -dc | tar -t; }

needs_openssl="openssl"
real_openssl() { openssl genrsa -out key 2048 2>/dev/null && openssl req -x509 -new -key key -subj /CN=x -days 1 -out c 2>/dev/null && openssl verify -CAfile c c; }

needs_curl="curl"
real_curl() { echo text >file && curl -s "file://$PWD/file"; }

needs_sort="sort"
real_sort() { seq 300000 | sort -R --random-source=/dev/zero | sort -n --parallel=4 -S 1M | md5sum; }
