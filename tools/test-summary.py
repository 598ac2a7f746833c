# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds up JUnit reports given as NAME=FILE; its last line is the sum. A report that is missing is a failure."""

import sys
import xml.etree.ElementTree as xml


def count(path):
    cases = list(xml.parse(path).getroot().iter("testcase"))
    failed = [c for c in cases if c.find("failure") is not None or c.find("error") is not None]
    skipped = [c for c in cases if c.find("skipped") is not None or c.get("status") in ("notrun", "disabled")]
    skipped = [c for c in skipped if c not in failed]
    names = [f"{c.get('classname', '')} {c.get('name', '')}" for c in failed]
    return len(cases) - len(failed) - len(skipped), len(failed), len(skipped), names


def main(reports):
    total = [0, 0, 0]
    for report in reports:
        name, path = report.split("=", 1)
        try:
            passed, failed, skipped, names = count(path)
        except (OSError, xml.ParseError) as problem:
            print(f"{name}: no report ({problem})")
            passed, failed, skipped, names = 0, 1, 0, []
        for failure in names:
            print(f"{name}: FAILED {failure}")
        print(f"{name}: {passed} passed, {failed} failed, {skipped} skipped")
        total = [a + b for a, b in zip(total, (passed, failed, skipped))]
    tail = f", {total[2]} skipped" if total[2] else ""
    print(f"{total[0]} passed, {total[1]} failed{tail}")
    return 1 if total[1] or not total[0] else 0


sys.exit(main(sys.argv[1:]))
