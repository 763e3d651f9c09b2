// Allocates blocks whose sizes tell them apart in every kind of function, and prints for each its size and the
// functions of this script on the stack, innermost first, as the interpreter itself has them.

'use strict';
const kept = [];
let size = 20001;
Error.stackTraceLimit = 100;

function allocate() {
    kept.push(Buffer.allocUnsafeSlow(size));
    console.log(`${size++} ${names()}`);
}

function names() {
    const stack = new Error().stack.split('\n').slice(2);
    const here = stack.filter((line) => line.includes(__filename) && !line.includes('at async '));
    return here.map((line) => {
        // "    at Rows.add (FILE:1:2)", "    at new Rows (FILE:1:2)", "    at FILE:1:2"
        const name = / at (?:new )?(?:(.*) )?\(?[^ ]*:\d+:\d+\)?$/.exec(line)?.[1] ?? '';
        const last = name.replace(/ \[as .*\]$/, '').split('.').pop();
        return last === '' || last === '<anonymous>' ? '(anonymous)' : last;
    }).join(' ');
}

class Rows {
    constructor() {
        allocate();
    }

    add() {
        allocate();
    }

    static of() {
        const rows = new Rows();
        rows.add();
    }
}

function recursive(depth) {
    if (depth > 0)
        recursive(depth - 1);
    else
        allocate();
}

function* generator() {
    allocate();
    yield 1;
    allocate();
}

async function later() {
    await null;
    allocate();
}

function fails() {
    throw new Error('expected');
}

function recovers() {
    try {
        fails();
    } catch {
        allocate();
    } finally {
        allocate();
    }
}

function compares(one, other) {
    allocate();
    return one - other;
}

function replaces() {
    allocate();
    return '';
}

function revives(key, value) {
    if (key === '')
        allocate();
    return value;
}

function main() {
    allocate();
    Rows.of();
    recursive(7);
    for (const _ of generator())
        ;
    recovers();
    [2, 1].sort(compares);
    'a'.replace(/a/, replaces);
    JSON.parse('{}', revives);
    [1].forEach((_) => allocate());
    later().then(function afterwards() {
        allocate();
    });
    setTimeout(function timer() {
        allocate();
    }, 1);
}

main();
