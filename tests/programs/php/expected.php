<?php
// What scripts say of their own blocks: a size for each, and the stack that the interpreter itself names.
//
// `expect` is called on the line that allocates. A line of `report` is a block: its size, and its frames from the
// innermost outwards, each as NAME:LINE. Functions of the interpreter are left out: they are native frames.

$kept = [];
$lines = [];
$size = 40000;

// Notes the stack of the caller, and returns the length of its string.
function expect()
{
    global $size, $lines;
    $frames = [];
    $trace = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
    foreach ($trace as $index => $call) {
        // A frame has the line from which the one before it was called, and the one behind it has its name. What
        // the interpreter calls has no line.
        if (!isset($call['line'])) {
            continue;
        }
        $frames[] = name($trace[$index + 1] ?? null) . ':' . $call['line'];
    }
    // Where the header and the zero behind the text are added, sizes are rounded up.
    $size += 16;
    $lines[] = $size . ' ' . implode(' ', $frames);
    return $size - 32;
}

// The name of a frame, as of a call.
function name($call)
{
    $including = ['include', 'include_once', 'require', 'require_once', 'eval'];
    if ($call === null || in_array($call['function'], $including) && !isset($call['class'])) {
        return '{main}';
    }
    // Behind a zero, a class without a name has the file.
    $class = isset($call['class']) ? explode("\0", $call['class'])[0] . '::' : '';
    return $class . $call['function'];
}

function report()
{
    global $lines;
    echo implode("\n", $lines), "\n";
}
