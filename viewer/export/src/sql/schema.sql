-- What the recording is: command, tool_version, started_unix_ns, duration_ns, sample_interval, file, cut.
create table info (name text primary key, value);

-- Process images: exec begins a new one.
create table processes (
    id integer primary key,
    pid integer not null,
    parent integer references processes,
    name text not null,
    executable text not null,
    command text not null,
    labels text not null,         -- JSON object: those of the recording, and of the process
    ended text not null,          -- exited, signaled, exec, running or unknown
    ended_ns integer              -- null while it runs
);

create table threads (
    id integer primary key,
    process integer not null references processes,
    tid integer not null,
    name text not null
);

-- Files with code.
create table modules (id integer primary key, path text not null, build_id text not null);

-- Functions, and what stands in their place where there is no name.
create table functions (
    id integer primary key,
    name text not null,
    module integer references modules
);

-- Addresses of code, as in their file; null for what is no code.
create table frames (id integer primary key, module integer references modules, address integer);

-- The functions of a frame: depth 0 is the innermost one, the others are those that it was inlined into.
create table frame_functions (
    frame integer not null references frames,
    depth integer not null,
    function integer not null references functions,
    file text,
    line integer,
    primary key (frame, depth)
) without rowid;

-- Stacks: a frame, and the stack of its caller. Stack 0 is the empty one.
create table stacks (
    id integer primary key,
    parent integer references stacks,
    frame integer references frames,
    call text not null,           -- malloc, calloc, operator new …
    function integer references functions  -- the innermost one
);

-- What each stack of each process cost; the sums are those of `info`.
create table costs (
    process integer not null references processes,
    stack integer not null references stacks,
    allocations integer not null, bytes integer not null,
    frees integer not null, freed_bytes integer not null,
    temporary integer not null, temporary_bytes integer not null,
    peak_blocks integer not null, peak_bytes integer not null,
    leaked_blocks integer not null, leaked_bytes integer not null,
    uncertain_blocks integer not null, uncertain_bytes integer not null,
    exec_blocks integer not null, exec_bytes integer not null,
    cpu_samples integer not null, cpu_weight integer not null, -- nanoseconds, or cycles where those were counted
    frees_here integer not null, freed_here_bytes integer not null -- what the stack freed itself, where stacks of frees were recorded
);

-- Calls that were to return memory and returned none.
create table failed_allocations (
    id integer primary key,       -- in their order
    process integer not null references processes,
    thread integer not null references threads,
    time_ns integer not null,
    call text not null,           -- malloc, calloc, operator new, mmap …
    size integer not null,        -- what was asked for; -1 too where a product does not fit
    alignment integer,            -- null where none was asked for
    error text,                   -- ENOMEM, EINVAL (invalid alignment) …; null where it is not known
    stack integer not null references stacks,
    count integer,                -- of a product that does not fit; else null
    element_size integer          -- likewise
);

-- The life of each block. Times are nanoseconds since the recording began.
create table blocks (
    id integer primary key,       -- in order of birth
    process integer not null references processes,
    thread integer not null references threads,
    address integer not null,
    size integer not null,
    stack integer not null references stacks,
    born_ns integer not null,
    died_ns integer,              -- null for those that were never freed
    end text not null,            -- freed, temporary, resized, displaced, leaked, uncertain or exec
    freed_by integer references threads,
    freed_stack integer references stacks -- where stacks of frees were recorded, and of realloc
);
