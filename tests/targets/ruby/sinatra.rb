# SPDX-License-Identifier: LGPL-2.1-or-later
# A web application on Sinatra and puma that serves requests: "# -> name" says what a line calls
# (tests/live/interpreted.py). The argument is the socket's path.
require "sinatra/base"
require "puma"
require "puma/server"

def leaf(n)
  s = 0
  i = 0
  while i < n
    s += i % 7
    i += 1
  end
  "x#{s}".upcase.size  # -> upcase size to_s
end

def f3(n)
  [n, n + 1].map do |x|  # -> map
    leaf(x) + 1          # -> leaf
  end
end

class Model
  def f2(n)
    v = f3(n)  # -> f3
    v.size     # -> size
  end
end

def f1(n)
  Model.new.f2(n)  # -> f2 new
end

class Application < Sinatra::Base
  set :environment, :production
  set :logging, false

  get "/work" do
    finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.02  # -> clock_gettime +
    sum = 0
    while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish  # -> clock_gettime <
      sum += f1(100)  # -> f1 +
    end
    "served\n"
  end

  get "/caller" do
    caller.join("\n") + "\n"
  end
end

server = Puma::Server.new(Application)
server.add_unix_listener(ARGV[0])
thread = server.run
puts "ready"
$stdout.flush
thread.join
