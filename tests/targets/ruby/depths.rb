# SPDX-License-Identifier: LGPL-2.1-or-later
# Calls at a random depth, which the methods' names say: d7 calls d8, and below d0 is turn. At the bottom is one of the leaves: a
# loop, a block that C code calls, a fiber's body, many short calls, code that is made for one call. Every fourth of the
# methods goes through a block.
#
# arguments: threads; "naps": each leaf waits for a moment instead

DEEPEST = 40

def spin(n)
  total = 0
  i = 0
  while i < n
    total += i * i
    i += 1
  end
  total
end

def looping
  spin(2000)
end

def key(n)
  spin(300) * 0 + n
end

def sorting
  [3, 1, 2, 5, 4].sort_by { |n| key(n) }
end

def mapping
  (0..5).map { |n| key(n) }
end

class Key
  attr_reader :n

  def initialize(n)
    @n = n
  end

  def <=>(other)
    spin(100)
    n <=> other.n
  end
end

def comparing
  [3, 1, 2].map { |n| Key.new(n) }.sort
end

def nothing
end

def calling
  i = 0
  while i < 200
    nothing
    i += 1
  end
end

def evaluating
  eval("spin(1000)")
end

def napping
  sleep(rand / 50)
end

DEEPEST.downto(0) do |n|
  inner = "d#{n + 1}(deepest)"
  inner = "[1].each { #{inner} }" if n % 4 == 3
  eval("def d#{n}(deepest)
  if deepest == #{n}
    return send(LEAVES.sample)
  end
  #{inner}
end")
end

def turn
  d0(rand(DEEPEST))
end

def work
  turn while true
end

LEAVES = ARGV[1] == "naps" ? [:napping] : [:looping, :sorting, :mapping, :comparing, :calling, :evaluating]
(ARGV[0].to_i - 1).times { Thread.new { work } }
puts "ready"
$stdout.flush
work
