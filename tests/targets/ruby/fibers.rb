# SPDX-License-Identifier: LGPL-2.1-or-later
# Fibers: "# -> name" says what a line calls (tests/live/interpreted.py). With "busy" they are resumed for ever; else
# it says what Fiber#backtrace says of each, and waits in two that are one within the other.

def park(n)
  Fiber.yield(n)  # -> yield
end

def deep(n)
  return park(n) if n == 0  # -> park
  v = deep(n - 1)           # -> deep
  v
end

def work(i)
  j = 0
  while true
    deep((i + j) % 9)                    # -> deep
    [1, 2].each { |x| park(x) }          # -> each block_in_work park
    [i].map { |x| deep(x % 3) }          # -> map block_in_work deep
    j += 1
  end
end

def rest
  @created = Fiber.new { park(1) }
  @ended = Fiber.new { 1 }
  @ended.resume
  @numbers = [1, 2, 3].each
  @numbers.next
end

fibers = 300.times.map do |i|
  Fiber.new do
    work(i)  # -> work
  end
end
fibers.each { |f| f.resume }
fibers.each_with_index { |f, i| (i % 5).times { f.resume } }

if ARGV[0] == "busy"
  STDERR.puts "ready"
  while true
    fibers.each do |f|
      f.resume
    end
  end
end

rest
def say_and_wait
  ObjectSpace.each_object(Fiber) do |f|
    STDERR.puts "fiber #{f.inspect}"
    (f.backtrace || []).each { |line| STDERR.puts line }
  end
  STDERR.puts "ready"
  STDIN.gets
end

outer = Fiber.new do
  inner = Fiber.new { say_and_wait }
  inner.resume
end
outer.resume
