# SPDX-License-Identifier: LGPL-2.1-or-later
# A known chain of calls that never waits, in two threads: "# -> name" says what a line calls, names with
# "_" instead of spaces (tests/live/interpreted.py).

def leaf(n)
  s = 0
  i = 0
  while i < n
    s += i % 7
    i += 1
  end
  a = [3, 1, s].sort    # -> sort
  b = "x#{s}".upcase    # -> upcase to_s
  n.times do |k|        # -> times
    s ^= k  # -> ^
  end
  s + a.size + b.size   # -> size
end

class Magic
  include Comparable
  attr_reader :value

  def initialize(value)
    @value = value
  end

  def to_s
    v = leaf(30)  # -> leaf
    "m"
  end

  def method_missing(name, *arguments)
    v = leaf(arguments[0])  # -> leaf
    v + 1
  end

  def respond_to_missing?(name, all = false)
    false
  end

  def <=>(other)
    leaf(10)               # -> leaf
    value <=> other.value  # -> <=>
  end

  define_method(:defined) do |n|
    leaf(n)  # -> leaf
  end
end

def deep(n)
  return leaf(20) if n == 0  # -> leaf
  v = deep(n - 1)            # -> deep
  v + 1
end

# Prism, which compiles from Ruby 3.4 on, notes the line of "begin" for who waits for its "rescue".
def guarded(n)
  begin                  # -> rescue_in_guarded
    raise ArgumentError  # -> raise exception initialize backtrace
  rescue ArgumentError   # -> rescue_in_guarded ===
    leaf(n)              # -> leaf
  ensure
    leaf(n)              # -> leaf
  end
end

class Work
  def run(n)
    m = Magic.new(3)           # -> new
    a = m.anything(n)          # -> method_missing
    t = "#{m}"                 # -> to_s
    b = [1, 2].map do |x|      # -> map
      deep(3) + x              # -> deep
    end
    c = [m, Magic.new(1)].max  # -> max new <=>
    [5, 6].each_with_index do |x, i|    # -> each_with_index
      leaf(x + i)                       # -> leaf
    end
    d = [1, 2].inject { |x, y| leaf(x + y) }  # -> inject block_in_run leaf
    e = m.defined(n)                    # -> block_in_<class:Magic>
    f = m.instance_eval { leaf(7) }     # -> instance_eval block_in_run leaf
    g = ->(x) { leaf(x) }.call(5)       # -> call block_in_run leaf lambda
    h = {1 => 2}.each { |k, v| leaf(v) }  # -> each block_in_run leaf
    guarded(n)                          # -> guarded
    a + t.size + b.sum + c.value + e    # -> sum
  end
end

def outer(n)
  w = Work.new  # -> new
  w.run(n)      # -> run
end

def turns
  loop do      # -> loop
    outer(30)  # -> outer
  end
end

second = Thread.new do
  turns  # -> turns
end
second.name = "second"
puts "ready"
STDOUT.flush
turns  # -> turns
