#lang racket/base
;; SPDX-License-Identifier: LGPL-2.1-or-later
;; inner <- middle <- outer, blocked in the C library's pause().
(require ffi/unsafe)
(define pause (get-ffi-obj "pause" #f (_fun -> _int)))
(define (inner n) (+ n (pause)))
(define (middle n) (* 2 (inner n)))
(define (outer n) (* 2 (middle n)))
(set! inner inner)
(set! middle middle)
(set! outer outer)
(displayln "ready")
(flush-output)
(let loop () (outer 3) (loop))
