;; SPDX-License-Identifier: LGPL-2.1-or-later
;; inner <- middle <- outer, blocked in the C library's pause().
(declaim (notinline inner middle outer))
(defun inner (n) (+ n (sb-alien:alien-funcall (sb-alien:extern-alien "pause" (function sb-alien:int)))))
(defun middle (n) (* 2 (inner n)))
(defun outer (n) (* 2 (middle n)))
(format t "ready~%")
(finish-output)
(loop (outer 3))
