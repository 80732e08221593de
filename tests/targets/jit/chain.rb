# SPDX-License-Identifier: LGPL-2.1-or-later
# inner <- middle <- outer, compiled by YJIT, blocked in a read of an empty pipe.
$reader, $writer = IO.pipe

def inner(n)
  $reader.readpartial(1) if n < 0
  n * 2
end

def middle(n)
  inner(n) + 1
end

def outer(n)
  middle(n) + 1
end

1000.times { |i| outer(i) }
puts "ready"
$stdout.flush
loop { outer(-1) }
