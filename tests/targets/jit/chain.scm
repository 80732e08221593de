;; SPDX-License-Identifier: LGPL-2.1-or-later
;; inner <- middle <- outer, compiled by guile's JIT, blocked in select().
(define (inner n) (if (< n 0) (select '() '() '() 1000000) #f) (* n 2))
(define (middle n) (+ 1 (inner n)))
(define (outer n) (+ 1 (middle n)))
(do ((i 0 (+ i 1))) ((= i 1000)) (outer i))
(display "ready\n")
(force-output)
(let loop () (outer -1) (loop))
