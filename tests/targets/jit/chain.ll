; SPDX-License-Identifier: LGPL-2.1-or-later
; inner <- middle <- outer <- main, blocked in pause(). Functions without frame pointers; each keeps
; something over its call, so that none is a tail call.
declare i32 @pause()

define i32 @inner(i32 %n) noinline uwtable {
  %r = call i32 @pause()
  %s = add i32 %r, %n
  ret i32 %s
}

define i32 @middle(i32 %n) noinline uwtable {
  %m = add i32 %n, 1
  %r = call i32 @inner(i32 %m)
  %s = mul i32 %r, %n
  ret i32 %s
}

define i32 @outer(i32 %n) noinline uwtable {
  %m = add i32 %n, 1
  %r = call i32 @middle(i32 %m)
  %s = mul i32 %r, %n
  ret i32 %s
}

define i32 @main() uwtable {
  %r = call i32 @outer(i32 1)
  %s = add i32 %r, 1
  ret i32 %s
}
