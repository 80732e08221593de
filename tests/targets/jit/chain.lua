-- SPDX-License-Identifier: LGPL-2.1-or-later
-- A hot loop becomes one trace, which calls poll() itself: in the end without a time limit.
local ffi = require("ffi")
ffi.cdef[[int poll(void *fds, unsigned long n, int timeout);]]
local C = ffi.C

local function inner(n) return C.poll(nil, 0, n) end
local function middle(n) return inner(n) + 1 end
local function outer(n) return middle(n) + 1 end

io.write("ready\n")
io.flush()
local wait = 0
local sum = 0
for i = 1, 100000000 do
	-- No branch on i: a side exit would leave the trace before the call that blocks.
	wait = -math.floor(i / 1000000)
	sum = sum + outer(wait)
end
