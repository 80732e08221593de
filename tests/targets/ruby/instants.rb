# SPDX-License-Identifier: LGPL-2.1-or-later
# Each part of what is stepped (tests/fixtures/record_instants.py) is between two Process.ppid. It says that it is ready
# and waits for a line.

def leaf(number = 1)
  number
end

def call
  Process.ppid
  leaf
  Process.ppid
end

def by_c
  Process.ppid
  [1].each { leaf }
  Process.ppid
end

def by_name
  Process.ppid
  send(:leaf)
  Process.ppid
end

def thrower(ended)
  raise ended
end

def between(ended)
  thrower(ended)
end

def caught
  ended = KeyError.new
  Process.ppid
  begin
    between(ended)
  rescue KeyError
    leaf
  end
  Process.ppid
end

puts 'ready'
$stdout.flush
gets
20.times do
  call
  by_c
  by_name
  caught
end
