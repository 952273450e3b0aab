	.type f, %function
f:
	mov x4, 0
.L4:
	ldr q0, [x5, x4]
	mov x0, 0
.L3:
	lsl x1, x0, 9
	ldr s2, [x3, x0, lsl 2]
	add x0, x0, 1
	ldr q1, [x2, x1]
	fmla v0.4s, v1.4s, v2.s[0]
	cmp x0, 96
	bne .L3
	str q0, [x5, x4]
	add x4, x4, 16
	cmp x4, 512
	bne .L4
	ret
	.size f, .-f
