# SPDX-License-Identifier: LGPL-2.1-or-later
# Threads that wait in functions of the library. Says "waits TID KIND" for each, then "ready".
work = Queue.new
full = SizedQueue.new(1)
full << 1
mutex = Mutex.new
condition = ConditionVariable.new
{
  "queue_get" => -> { work.pop }, "queue_put" => -> { full.push(2) },
  "condition" => -> { mutex.synchronize { condition.wait(mutex) } }
}.each do |kind, function|
  thread = Thread.new(&function)
  Thread.pass until thread.native_thread_id
  puts "waits #{thread.native_thread_id} #{kind}"
end
puts "ready"
$stdout.flush
sleep
