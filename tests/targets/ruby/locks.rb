# SPDX-License-Identifier: LGPL-2.1-or-later
# Threads that wait for Ruby's locks, and who has these, by Ruby's own word. The first argument:
#
#   hold     one is in a call of C code with the GVL, "holds TID"; others want it: "wants TID"
#   mutexes  "waits TID OWNER NAME": NAME is what the lock is in, or of whom; OWNER 0: nobody has it.
#            "asleep TID": waits for no lock
#   joins    "joins TID OWNER": waits for a thread to end; "asleep TID": waits for none
#   cycle    two that wait for each other's Mutex while a third one is awake: "cycle TID TID"
#   turns    threads that take and give back Mutexes all the time, in lockN and insideN
require "fiddle"
require "monitor"

$stdout.sync = true

def say(*words)
  $stdout.syswrite(words.join(" ") + "\n") # in one
end

def tid
  Thread.current.native_thread_id
end

# Wait until the thread waits for a lock by Ruby's own word.
def asleep(thread)
  Thread.pass until thread.status == "sleep"
end

def hold
  ready = Queue.new
  4.times do
    Thread.new do
      say("wants", tid)
      ready << true
      loop {}
    end
  end
  4.times { ready.pop }
  pause = Fiddle::Function.new(Fiddle.dlopen(nil)["pause"], [], Fiddle::TYPE_INT, need_gvl: true)
  Thread.new do
    say("holds", tid)
    say("ready")
    pause.call
  end.join
end

def inside(lock)
  queue = Queue.new
  Thread.new do
    lock.synchronize do
      queue << tid
      sleep
    end
  end
  queue.pop
end

def waiter(lock, owner, name)
  raise "not locked" unless lock.is_a?(Monitor) ? lock.mon_locked? : lock.locked?

  own = nil
  thread = Thread.new do
    own = tid
    lock.synchronize { say("has it", own) }
  end
  asleep(thread)
  say("waits", own, owner, name)
end

def mutexes
  one = Mutex.new
  owner = inside(one)
  3.times { waiter(one, owner, "mutex") }
  two = Monitor.new
  waiter(two, inside(two), "monitor")
  # A fiber that is not the one that its thread runs has it.
  three = Mutex.new
  ready = Queue.new
  Thread.new do
    fiber = Fiber.new do
      three.lock
      Fiber.yield
    end
    fiber.resume
    ready << tid
    sleep
  end
  waiter(three, ready.pop, "fiber")
  # The thread waits for what a condition variable says, with the Mutex unlocked.
  four = Mutex.new
  condition = ConditionVariable.new
  sleeper = Thread.new { four.synchronize { condition.wait(four) } }
  asleep(sleeper)
  say("asleep", sleeper.native_thread_id)
  # The main thread sleeps in another call than others do.
  say("waits", tid, owner, "main")
  say("ready")
  one.lock
end

def joins
  sleeper = Thread.new { sleep }
  asleep(sleeper)
  threads = [Thread.new { sleeper.join }, Thread.new { sleeper.value }, Thread.new { sleeper.join(3600) }]
  threads.each do |t|
    asleep(t)
    say("joins", t.native_thread_id, sleeper.native_thread_id)
  end
  say("asleep", sleeper.native_thread_id)
  say("joins", tid, threads[0].native_thread_id)
  say("ready")
  threads[0].join
end

def cycle
  locks = [Mutex.new, Mutex.new]
  ready = [Queue.new, Queue.new]
  threads = [0, 1].map do |i|
    Thread.new do
      locks[i].synchronize do
        ready[i] << tid
        ready[i] << tid
        Thread.pass until ready[1 - i].size == 1
        locks[1 - i].lock
      end
    end
  end
  tids = ready.map(&:pop)
  threads.each { |t| asleep(t) }
  say("cycle", *tids)
  say("ready")
  loop { sleep(0.01) } # Ruby itself finds a deadlock only when all sleep forever
end

LOCKS = Array.new(3) { Mutex.new }

def work(n)
  n.times { |i| i * i }
  sleep(0.0005) if n % 4 == 0 # others come to want the lock
end

3.times do |i|
  eval(<<~RUBY, binding, __FILE__, __LINE__ + 1)
    def inside#{i}(n)
      work(n)
    end

    def lock#{i}(n)
      LOCKS[#{i}].synchronize { inside#{i}(n) }
    end
  RUBY
end

def turns
  5.times do |seed|
    Thread.new do
      random = Random.new(seed)
      loop do
        n = random.rand(30_000)
        case random.rand(3)
        when 0 then lock0(n)
        when 1 then lock1(n)
        else lock2(n)
        end
      end
    end
  end
  say("ready")
  sleep
end

send(ARGV.fetch(0))
