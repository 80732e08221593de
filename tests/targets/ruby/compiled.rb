# SPDX-License-Identifier: LGPL-2.1-or-later
# Methods that are new all the time, for YJIT to compile.

def make(name, n)
  Object.class_eval("def #{name}(x)\n  x > 100 ? x.to_s : [x, #{n}].map { |y| y + #{n} }.sum\nend")
end

def use(name)
  20.times { |i| send(name, 10 * i) }
end

def run
  n = 0
  loop do
    n += 1
    make("m#{n % 1000}", n)
    use("m#{n % 1000}")
  end
end

$stdout.sync = true
puts "ready"
run
