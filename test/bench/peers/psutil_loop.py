"""Reads the process table as a sweeper written with psutil does: psutil_loop.py NAME="""

import sys

import psutil

seen = found = 0
for process in psutil.process_iter():
    try:
        with process.oneshot():
            process.ppid(), process.create_time(), process.cmdline()
            found += any(name + "=" == sys.argv[1] for name in process.environ())
    except psutil.Error:
        continue
    seen += 1
print(seen, found)
