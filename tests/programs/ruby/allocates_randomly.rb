# Allocates a thousand blocks in functions that call each other in random ways, in four threads.

require_relative "expected"

WAYS = %i[
  direct twice by_block by_lambda by_fiber by_enumerator by_sort by_map by_expression by_reduction by_exception by_class
  by_method by_evaluation by_catch by_definition
].freeze

def direct(random, depth)
  go(random, depth)
end

def twice(random, depth)
  go(random, depth); go(random, depth)
end

def by_block(random, depth)
  1.times { go(random, depth) }
end

def by_lambda(random, depth)
  ->(deep) { go(random, deep) }.call(depth)
end

def by_fiber(random, depth)
  Fiber.new do
    go(
      random,
      depth,
    )
  end.resume
end

def by_enumerator(random, depth)
  Enumerator.new { |yielder| yielder << go(random, depth) }.next
end

def by_sort(random, depth)
  [2, 1].sort_by { |one| go(random, depth) && one }
end

def by_map(random, depth)
  [depth].map do |deep|
    go(random, deep)
  end
end

def by_expression(random, depth)
  "a".gsub(/a/) { go(random, depth).to_s }
end

def by_reduction(random, depth)
  [0, depth].inject { |_, deep| go(random, deep) }
end

def by_exception(random, depth)
  raise ArgumentError
rescue ArgumentError
  go(random, depth)
ensure
  go(random, 0)
end

def by_class(random, depth)
  made = Class.new do
    define_method(:initialize) do
      go(random, depth)
    end
  end
  made.new
end

def by_method(random, depth)
  method(:go).to_proc.call(random, depth)
end

def by_evaluation(random, depth)
  lines = "\n" * random.rand(5)
  eval("#{lines}go(random, depth)", binding, "made.rb")
end

def by_catch(random, depth)
  catch(:done) { throw :done, go(random, depth) }
end

def by_definition(random, depth)
  object = Object.new
  object.instance_eval("#{"\n" * random.rand(5)}def self.made(random, depth)\n  go(random, depth)\nend", "late.rb")
  object.made(random, depth)
end

def go(random, depth)
  if depth <= 0 || random.rand(8) == 0
    KEPT << "x" * expect if KEPT.size < 1000
    return 1
  end
  send(WAYS.sample(random: random), random, depth - 1)
  1
end

def work(seed)
  random = Random.new(seed)
  go(random, random.rand(12)) while KEPT.size < 1000
end

def main(seed)
  threads = 3.times.map { |number| Thread.new { work(seed + number) } }
  work(seed + 3)
  threads.each(&:join)
end

main(ARGV.first.to_i)
report
