f:
	vaddpd (%rax){1to4}, %ymm2, %ymm3{%k1}{z}
	movl $0, -8(%rbp)
.L1:
	addl $0x2, -8(%rbp)
	cmpl $18, -8(%rbp)
	jbe .L1
	rep stosq
	movq %fs:40, %rax
	vpmovzxbd sym+4(%rip), %zmm0
	vfoo %xmm0
	call g@PLT
	subq $16, %rdx; jns .L1
	jmp *%rax
