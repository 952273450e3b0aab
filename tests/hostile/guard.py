"""Runs a command under limits and tells how it ended: guard.py SECONDS ADDRESS_BYTES STACK_BYTES REPORT COMMAND...

A process of its own, as small as Python is: what the system counts as the peak memory of a process includes that of the one
which started it. SECONDS are those of the processor, so that a busy machine makes no difference; a process that waits is stopped
after four times as many. The report is one line: seconds of the processor, peak bytes, status (negative: killed by this signal),
1 where time ran out.
"""
import os
import resource
import signal
import sys

seconds, address, stack, report, *command = sys.argv[1:]
child = os.fork()
if child == 0:
    os.setsid()
    for what, size in ((resource.RLIMIT_AS, int(address)), (resource.RLIMIT_STACK, int(stack)), (resource.RLIMIT_CORE, 0),
                       (resource.RLIMIT_CPU, int(seconds))):
        resource.setrlimit(what, (size, size))
    os.execv(command[0], command)


def stop(*_):
    global late
    late = 1
    os.killpg(child, signal.SIGKILL)


late = 0
signal.signal(signal.SIGALRM, stop)
signal.setitimer(signal.ITIMER_REAL, 4 * float(seconds))
_, ended, used = os.wait4(child, 0)
took = used.ru_utime + used.ru_stime
with open(report, "w") as out:
    print(took, used.ru_maxrss * 1024, os.waitstatus_to_exitcode(ended), int(late or took > float(seconds) - 0.2), file=out)
