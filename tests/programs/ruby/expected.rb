# What scripts say of their own blocks: a size for each, and the stack that the interpreter itself names.
#
# `expect` is called on the line that allocates. A line of `report` is a block: its size, and its frames from the
# innermost outwards, each as NAME:LINE. Functions of the interpreter are left out: they are native frames.

KEPT = []
LINES = []
LOCK = Mutex.new
NATIVE = %w[
  backtrace_locations call catch class_eval collect dig each each_char each_entry each_slice each_with_index each_with_object
  eval fetch fold gsub gsub! initialize_copy inject instance_eval instance_exec join load loop map max_by
  module_eval new next public_send raise reduce require require_relative resume scan select send sort sort_by start sum
  synchronize tap then throw times to_proc transform_values upto with_index yield_self
].freeze
$size = 19_999

# Notes the stack of the caller, and returns the length of its string.
def expect
  frames = caller_locations(1).reject do |location|
    # One in a fiber's first function has no path.
    location.path.nil? || location.path.start_with?("<internal:") || NATIVE.include?(location.base_label)
  end
  stack = frames.map { |location| "#{location.label}:#{location.lineno}".tr(" ", "_") }.join(" ")
  LOCK.synchronize do
    $size += 2
    LINES << "#{$size} #{stack}"
    # A string has one byte more.
    $size - 1
  end
end

def report
  $stdout.write(LINES.join("\n"), "\n")
end
