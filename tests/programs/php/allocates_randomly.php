<?php
// Allocates a thousand blocks in functions that call each other in random ways.

require __DIR__ . '/expected.php';

function direct($depth)
{
    go($depth);
}

function twice($depth)
{
    go($depth); go($depth);
}

function by_closure($depth)
{
    (function ($deep) {
        go($deep);
    })($depth);
}

function by_generator($depth)
{
    $made = (function () use ($depth) {
        yield go($depth);
        yield go(
            $depth
        );
    })();
    foreach ($made as $one) {
        go($depth - 1);
    }
}

function by_delegation($depth)
{
    $inner = function () use ($depth) {
        yield go($depth);
        return yield go($depth);
    };
    $outer = function () use ($inner) {
        yield 1;
        yield from $inner();
        yield go(0);
    };
    foreach ($outer() as $one) {
    }
}

function by_sort($depth)
{
    $two = [2, 1];
    usort($two, function ($one, $other) use ($depth) {
        go($depth);
        return $one <=> $other;
    });
}

function by_map($depth)
{
    array_map(function ($deep) {
        go($deep);
    }, [$depth]);
}

function by_name($depth)
{
    array_map('go', [$depth]);
    call_user_func('direct', $depth);
}

function by_expression($depth)
{
    preg_replace_callback('/a/', fn ($match) => go($depth), 'a');
}

function by_exception($depth)
{
    try {
        throw new LengthException();
    } catch (LengthException $error) {
        go($depth);
    } finally {
        go(0);
    }
}

class Maker
{
    public $depth;

    public function __construct($depth)
    {
        $this->depth = $depth;
        go($depth);
    }

    public static function made($depth)
    {
        return new static(
            $depth
        );
    }

    public function __call($name, $arguments)
    {
        go($arguments[0]);
    }

    public function __destruct()
    {
        go($this->depth);
    }
}

function by_class($depth)
{
    Maker::made($depth)->missing($depth);
}

function by_method($depth)
{
    $made = new Maker(0);
    array_map([$made, 'missing'], [$depth]);
}

function by_evaluation($depth)
{
    $lines = str_repeat("\n", random_int_of(5));
    eval("{$lines}go(\$depth);");
}

function by_definition($depth)
{
    $lines = str_repeat("\n", random_int_of(5));
    $made = eval("return {$lines}function (\$depth) {\n go(\$depth); };");
    $made($depth);
}

function random_int_of($count)
{
    return mt_rand(0, $count - 1);
}

$ways = [
    'direct', 'twice', 'by_closure', 'by_generator', 'by_delegation', 'by_sort', 'by_map', 'by_name', 'by_expression',
    'by_exception', 'by_class', 'by_method', 'by_evaluation', 'by_definition',
];

function go($depth)
{
    global $kept, $ways;
    if ($depth <= 0 || random_int_of(8) == 0) {
        if (count($kept) < 1000) {
            $kept[] = str_repeat('x', expect());
        }
        return '';
    }
    $ways[array_rand($ways)]($depth - 1);
    return '';
}

mt_srand((int) $argv[1]);
while (count($kept) < 1000) {
    go(random_int_of(12));
}
report();
