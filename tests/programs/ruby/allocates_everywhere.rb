# Allocates blocks of a size each in every kind of frame, and prints which stack each of them has.

require_relative "expected"

def plain
  KEPT << "x" * expect
end

module Shared
  def shared
    KEPT << "x" * expect
  end
end

class Row
  include Shared
  include Comparable
  attr_reader :number

  def initialize(number = 0)
    @number = number
    KEPT << "x" * expect
  end

  def filled
    KEPT << "x" * expect
    [1].each do
      KEPT << "x" * expect
      [2].each { KEPT << "x" * expect }
    end
  end

  def self.made
    KEPT << "x" * expect
    new
  end

  class << self
    def of_class
      KEPT << "x" * expect
    end
  end

  define_method(:defined) do
    KEPT << "x" * expect
  end

  def <=>(other)
    KEPT << "x" * expect
    number <=> other.number
  end

  def method_missing(name, *)
    KEPT << "x" * expect
    name
  end

  def respond_to_missing?(*)
    true
  end

  def hash
    KEPT << "x" * expect
    7
  end

  def to_s
    KEPT << "x" * expect
    "row"
  end

  KEPT << "x" * expect
end

def recurse(depth)
  if depth > 0
    return recurse(
      depth - 1
    )
  end
  KEPT << "x" * expect
end

def raises
  begin
    KEPT << "x" * expect
    raise ArgumentError
  rescue ArgumentError
    KEPT << "x" * expect
    begin
      raise KeyError
    ensure
      KEPT << "x" * expect
    end
  end
end

def unwinds
  begin
    raises
  rescue KeyError
    KEPT << "x" * expect
  end
  catch(:done) do
    KEPT << "x" * expect
    throw :done
  end
  KEPT << "x" * expect
end

def generate(count)
  Enumerator.new do |yielder|
    count.times do
      KEPT << "x" * expect
      yielder << 1
    end
  end
end

def in_fibers
  inner = Fiber.new do
    KEPT << "x" * expect
    Fiber.yield
    KEPT << "x" * expect
  end
  outer = Fiber.new do
    plain
    inner.resume
    KEPT << "x" * expect
    Fiber.yield
    recurse(7)
    inner.resume
  end
  outer.resume
  KEPT << "x" * expect
  outer.resume
  made = generate(3)
  3.times do
    made.next
    KEPT << "x" * expect
  end
end

def yields
  KEPT << "x" * expect
  yield 1
  yield(
    2
  )
end

def calls_back
  [3, 1, 2].sort_by { |one| (KEPT << "x" * expect) && one }
  [3, 1, 2].sort { |one, other| (KEPT << "x" * expect) && one <=> other }
  "aa".gsub("a") { (KEPT << "x" * expect) && "b" }
  { 1 => 2 }.transform_values { KEPT << "x" * expect }
  [1, 2].inject { KEPT << "x" * expect }
  [Row.new(2), Row.new(1)].sort
  { Row.new => 1 }.fetch(Row.new, 0)
  "#{Row.new}"
  %w[plain].each(&method(:send))
  yields { |_| KEPT << "x" * expect }
  work = ->(one) { (KEPT << "x" * expect) && one }
  work.call(1)
  work.(2)
  [1].map(&work)
  instance_exec { KEPT << "x" * expect }
  Hash.new { |*| KEPT << "x" * expect }[1]
end

def evaluated
  eval("\n\nKEPT << 'x' * expect", binding, "made.rb", 1)
  eval("KEPT << 'x' * expect")
  Object.class_eval("def made_late\n  KEPT << 'x' * expect\nend", "late.rb", 40)
  made_late
  Row.new.instance_eval { KEPT << "x" * expect }
end

# Instruction sequences that take each other's places.
def dies
  60.times do |number|
    name = format("made_%03d", number)
    source = "\n" * (number % 7) + "def self.#{name}\n  KEPT << 'x' * expect\nend\n#{name}\n"
    object = Object.new
    object.instance_eval(source, format("file_%03d.rb", number), 1)
    GC.start if number % 10 == 9
  end
end

def moves
  GC.compact
  plain
  KEPT << "x" * expect
  GC.compact
  plain
rescue NotImplementedError
  plain
end

def in_threads
  threads = 4.times.map do |depth|
    Thread.new(depth) do |deep|
      recurse(deep)
      yields { plain }
      in_fibers
    end
  end
  threads.each(&:join)
end

def naïve_日本
  KEPT << "x" * expect
end

def deep(depth)
  return plain if depth == 0
  return [depth].map { |one| deep(one - 1) } if depth % 3 == 0

  deep(depth - 1)
end

def main
  plain
  row = Row.made
  row.filled
  row.shared
  row.defined
  row.missing
  Row.of_class
  recurse(0)
  recurse(5)
  recurse(100)
  unwinds
  in_fibers
  calls_back
  evaluated
  dies
  moves
  in_threads
  naïve_日本
  deep(40)
end

main
report
