f:
	stp x29, x30, [sp, -32]!
.L1:
	ld1 {v30.4s - v1.4s}, [x0], #64
	ldr q0, [x1], 16
	ldr x2, [x3, :lo12:sym]
	add x0, x1, w2, sxtw 2
	st1 {v0.s}[1], [x2]
	ld1w {z0.s}, p0/z, [x0, x1, lsl 2]
	subs w3, w3, #1
	b.ne .L1
	tbz x0, 3, .L1
	cbnz x4, .L1
	br x1
