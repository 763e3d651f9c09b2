# Overwrites its own frames, instruction sequence and context while it allocates, and puts everything back.

require "fiddle"

LIBRARY = Fiddle.dlopen(ARGV[0])
TYPES = [Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_SIZE_T].freeze
SCRIBBLE = Fiddle::Function.new(LIBRARY["scribble"], TYPES, Fiddle::TYPE_VOID, need_gvl: true)
RANDOM = Random.new(ARGV[1].to_i)
FRAME = 8 * (%w[3.1 3.2].include?(RUBY_VERSION[0, 3]) ? 8 : 7)
LINES = RUBY_VERSION < "3.2" ? 120 : 112

def word(address)
  Fiddle::Pointer.new(address)[0, 8].unpack1("Q")
end

# Where the address of the context is: this thread's own variable, or where that is not exported, the thread.
SLOT = RUBY_VERSION < "3.3" ? Fiddle::Handle::DEFAULT["ruby_current_ec"] : word(Fiddle.dlwrap(Thread.current) + 32) + 48

class Row
  def self.scribble(address, words)
    real = [SLOT, CONTEXT, *FRAMES, CODE, BODY, *PARTS, word(Fiddle.dlwrap(Row))]
    near = real.map { |one| one + 8 * RANDOM.rand(-64..64) }
    odd = real.map { |one| one + RANDOM.rand(1..7) }
    wild = [
      0, 1, 7, 8, 4096, 2**47 - 8, 2**47, 2**63, 2**64 - 1, 2**64 - 8, RANDOM.rand(2**64), 8 * RANDOM.rand(2**46)
    ]
    values = (real + near + odd + wild).map { |value| value % 2**64 }
    SCRIBBLE.call(address, words, values.pack("Q*"), values.size, 30_001)
  end
end

CONTEXT = word(SLOT)
# While this is read, `word` and what it calls have a frame each. Frames of calls come before it in memory.
MAIN = word(CONTEXT + 16) + 2 * FRAME
FRAMES = 5.times.map { |number| MAIN - number * FRAME }.freeze
CODE = word(MAIN + 16)
BODY = word(CODE + 16)
# Its path, its names, and its lines.
PARTS = [64, 72, 80, LINES].map { |offset| word(BODY + offset) }.freeze

[[SLOT, 1], [CONTEXT, 4], [CODE, 3], [BODY, 26]].each { |place, words| Row.scribble(place, words) }
FRAMES.each { |frame| Row.scribble(frame, FRAME / 8) }
PARTS.each { |part| Row.scribble(part, 5) }
KEPT = "x" * 30_002
puts "survived"
