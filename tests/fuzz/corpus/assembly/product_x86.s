	.type f, @function
f:
.LFB0:
	xorl %edi, %edi
	leaq 49152(%rdx), %rcx
.L2:
	movq %rdx, %rax
	vmovups (%rsi), %ymm0
.L3:
	vbroadcastss (%r8), %ymm1
	addq $512, %rax
	vfmadd231ps -512(%rax), %ymm1, %ymm0
	cmpq %rax, %rcx
	jne .L3
	vmovups %ymm0, (%rsi)
	addq $32, %rdx
	addq $32, %rcx
	addq $1, %rdi
	cmpq $64, %rdi
	jne .L2
	vzeroupper
	ret
	.size f, .-f
