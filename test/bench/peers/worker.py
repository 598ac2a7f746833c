# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One peer on one case in a process of its own. The parent writes a number of seconds per line; each is answered
by a line of JSON: the seconds of each call made in about that time. The first line out says how it went so far."""
import dataclasses
import importlib
import json
import os
import sys
import time

from cases import Case


def main():
    module, peer = sys.argv[1].split(":")
    case = Case(**json.loads(sys.argv[2]))
    threads = int(sys.argv[3])
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # What libraries print is not an answer.
    def answer(**fields):
        answers.write(json.dumps(fields) + "\n")

    try:
        from inputs import Inputs
        begin = time.perf_counter()
        given = Inputs(case)
        loaded = importlib.import_module(module)
        imported = time.perf_counter()
        call, result, facts = getattr(loaded, peer)(case, given, threads)
        call()
        prepared = time.perf_counter()
        error = given.worst_error(result()) if result else None
        if threads == 1:
            os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
        call()
    except Exception as problem:  # Whatever a peer cannot do is a word in the table.
        reason = str(problem).strip().splitlines() or [type(problem).__name__]
        return answer(problem=reason[0][:200])
    answer(error=error, import_s=imported - begin, first_call_s=prepared - imported, **facts)
    for line in sys.stdin:
        seconds, until = [], time.perf_counter() + float(line)
        while True:
            start = time.perf_counter()
            call()
            end = time.perf_counter()
            seconds.append(end - start)
            if end >= until:
                break
        answer(seconds=seconds)


if __name__ == "__main__":
    main()
