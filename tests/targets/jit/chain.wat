;; SPDX-License-Identifier: LGPL-2.1-or-later
;; inner <- middle <- outer, busy: what waits in the host is taken off its stack.
(module
  (memory (export "memory") 1)
  (func $inner (param i32) (result i32)
    (local $i i32)
    (loop $again
      (i32.store (i32.const 0)
        (i32.add (local.get $i) (i32.load (i32.const 0))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $again (i32.ne (i32.load (i32.const 4)) (i32.const 1))))
    (local.get $i))
  (func $middle (param i32) (result i32)
    (i32.mul (local.get 0) (call $inner (local.get 0))))
  (func $outer (param i32) (result i32)
    (i32.mul (local.get 0) (call $middle (local.get 0))))
  (func (export "_start"))
  (func (export "wizer-initialize") (drop (call $outer (i32.const 3)))))
