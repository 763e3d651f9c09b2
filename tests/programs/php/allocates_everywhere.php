<?php
// Allocates blocks of a size each in every kind of frame, and prints which stack each of them has.

require __DIR__ . '/expected.php';

function plain()
{
    global $kept;
    $kept[] = str_repeat('x', expect());
}

trait Shared
{
    public function shared()
    {
        global $kept;
        $kept[] = str_repeat('x', expect());
    }
}

abstract class Base
{
    public function inherited()
    {
        global $kept;
        $kept[] = str_repeat('x', expect());
    }
}

class Row extends Base implements Countable, IteratorAggregate, ArrayAccess
{
    use Shared;

    public $text;

    public function __construct()
    {
        $this->text =
            str_repeat('x', expect());
    }

    public static function made()
    {
        global $kept;
        $kept[] = str_repeat('x', expect());
        return new static();
    }

    public function filled()
    {
        return array_map(function ($one) {
            global $kept;
            $kept[] = str_repeat('x', expect());
            return array_filter([$one], fn ($inner) => $this->text .= str_repeat('x', expect()));
        }, [1]);
    }

    public function __destruct()
    {
        global $kept;
        $kept[] = str_repeat('x', expect());
    }

    public function __toString()
    {
        global $kept;
        $kept[] = str_repeat('x', expect());
        return 'row';
    }

    public function __call($name, $arguments)
    {
        global $kept;
        $kept[] = str_repeat('x', expect());
    }

    public static function __callStatic($name, $arguments)
    {
        global $kept;
        $kept[] = str_repeat('x', expect());
    }

    public function __get($name)
    {
        return str_repeat('x', expect());
    }

    public function __invoke($one)
    {
        global $kept;
        $kept[] = str_repeat('x', expect());
        return $one;
    }

    #[ReturnTypeWillChange]
    public function count()
    {
        plain();
        return 1;
    }

    #[ReturnTypeWillChange]
    public function getIterator()
    {
        plain();
        yield 1;
        plain();
    }

    #[ReturnTypeWillChange]
    public function offsetGet($at)
    {
        plain();
        return $at;
    }

    #[ReturnTypeWillChange]
    public function offsetSet($at, $value)
    {
        plain();
    }

    #[ReturnTypeWillChange]
    public function offsetExists($at)
    {
        plain();
        return true;
    }

    #[ReturnTypeWillChange]
    public function offsetUnset($at)
    {
        plain();
    }
}

function recurse($depth)
{
    if ($depth > 0) {
        return recurse(
            $depth - 1
        );
    }
    global $kept;
    $kept[] = str_repeat('x', expect());
}

function raises()
{
    global $kept;
    try {
        $kept[] = str_repeat('x', expect());
        throw new InvalidArgumentException();
    } catch (InvalidArgumentException $error) {
        $kept[] = str_repeat('x', expect());
        try {
            // It goes while the exception leaves.
            $row = Row::made();
            throw new LengthException();
        } finally {
            $kept[] = str_repeat('x', expect());
        }
    }
}

function loses()
{
    $row = new Row();
    throw new LengthException();
}

function unwinds()
{
    global $kept;
    try {
        raises();
    } catch (LengthException $error) {
        $kept[] = str_repeat('x', expect());
    }
    try {
        loses();
    } catch (LengthException $error) {
        unset($error);
        $kept[] = str_repeat('x', expect());
    }
}

function inner($count)
{
    global $kept;
    for ($number = 0; $number < $count; $number++) {
        $kept[] = str_repeat('x', expect());
        yield $number;
        plain();
    }
    return $count;
}

function outer($count)
{
    global $kept;
    $kept[] = str_repeat('x', expect());
    $got = yield from inner($count);
    $kept[] = str_repeat('x', expect());
    yield from inner($got);
}

function outermost($count)
{
    global $kept;
    yield 1;
    yield from outer($count);
    $kept[] = str_repeat('x', expect());
}

function generates()
{
    global $kept;
    foreach (inner(2) as $one) {
        $kept[] = str_repeat('x', expect());
    }
    foreach (outermost(2) as $one) {
        $kept[] = str_repeat('x', expect());
    }
    $made = outer(1);
    $made->current();
    recurse(3);
    $made->next();
    $sent = (function () {
        global $kept;
        while (true) {
            $got = yield;
            $kept[] = str_repeat('x', expect());
        }
    })();
    $sent->send(1);
    $sent->send(2);
    return iterator_to_array(outermost(1), false);
}

function calls_back()
{
    global $kept;
    $two = [2, 1];
    usort($two, function ($one, $other) {
        global $kept;
        $kept[] = str_repeat('x', expect());
        return $one <=> $other;
    });
    array_walk($two, function ($one) {
        plain();
    });
    array_map('recurse', [0, 2]);
    array_map([new Row(), 'inherited'], [1]);
    array_map('Row::made', [1]);
    array_map(new Row(), [1]);
    call_user_func_array('plain', []);
    preg_replace_callback('/a/', function ($match) {
        global $kept;
        $kept[] = str_repeat('x', expect());
        return 'b';
    }, 'aa');
    array_reduce([1, 2], fn ($all, $one) => $all . str_repeat('x', expect()));
    $work = Closure::fromCallable('plain');
    $work();
    $bound = function () {
        $this->text = str_repeat('x', expect());
    };
    $bound->call(new Row());
    (new ReflectionFunction('plain'))->invoke();
    (new ReflectionClass('Row'))->newInstance();
    ob_start(function ($text) {
        return $text;
    });
    ob_end_clean();
}

function magic()
{
    $row = new Row();
    $text = "$row";
    $row->missing(1);
    Row::missing();
    $kept = $row->absent;
    $row(1);
    count($row);
    foreach ($row as $one) {
        plain();
    }
    isset($row[1]);
    $row[1];
    $row[1] = 2;
    unset($row[1]);
    $row = null;
    $nameless = new class () extends Row {
        public function own()
        {
            $this->text = str_repeat('x', expect());
        }
    };
    $nameless->own();
}

// Code whose memory other code gets.
function evaluated()
{
    eval("\n\nglobal \$kept;\n\$kept[] = str_repeat('x', expect());");
    for ($number = 0; $number < 60; $number++) {
        $lines = str_repeat("\n", $number % 7);
        eval("global \$kept; $lines\$kept[] = str_repeat('x', expect());");
        eval("{$lines}function made_$number() {\n global \$kept;\n \$kept[] = str_repeat('x', expect()); }");
        ("made_$number")();
        $closure = eval("return {$lines}function () { global \$kept;$lines \$kept[] = str_repeat('x', expect()); };");
        $closure();
    }
}

function includes()
{
    global $kept;
    $made = include __DIR__ . '/included.php';
    of_included_file();
    $made();
}

function by_reference(&$text)
{
    $text = str_repeat('x', expect());
}

// Lines of instructions that do not call a function by name.
function instructions()
{
    global $kept;
    $text = str_repeat('x', expect());
    $kept[] = $text;
    by_reference($kept[]);
    $kept[]
        = str_repeat('x', expect());
    $kept[] = [
        'one' => str_repeat('x', expect()),
        'two' => str_repeat('x', expect()),
    ];
    static $once;
    $once = $once ?? str_repeat('x', expect());
    $kept[] = $once;
}

function deep($depth)
{
    if ($depth == 0) {
        return plain();
    }
    if ($depth % 3 == 0) {
        return array_map(function ($one) {
            return deep($one - 1);
        }, [$depth]);
    }
    deep($depth - 1);
}

function main()
{
    plain();
    $row = Row::made();
    $row->filled();
    $row->shared();
    $row->inherited();
    recurse(0);
    recurse(5);
    recurse(100);
    unwinds();
    generates();
    calls_back();
    magic();
    evaluated();
    includes();
    instructions();
    deep(40);
    if (class_exists('Fiber')) {
        in_fibers();
    }
}

function in_fibers()
{
    global $kept;
    $inner = new Fiber(function () {
        global $kept;
        $kept[] = str_repeat('x', expect());
        Fiber::suspend();
        $kept[] = str_repeat('x', expect());
    });
    $outer = new Fiber(function () use ($inner) {
        plain();
        $inner->start();
        recurse(3);
        Fiber::suspend();
        $inner->resume();
        plain();
    });
    $outer->start();
    $kept[] = str_repeat('x', expect());
    $outer->resume();
    $kept[] = str_repeat('x', expect());
}

main();
$kept[] = str_repeat('x', expect());
report();
