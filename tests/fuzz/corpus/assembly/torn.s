f:
.L1:
	jne .L1
	vaddps (%rax, %ymm0
	add x0, [x1
