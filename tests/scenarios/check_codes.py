#!/usr/bin/env python3
"""Every error code of the sources stands in docs/errors.md: check_codes.py ROOT.

machine.* is left out: keys of machine files look the same.
"""

import pathlib
import re
import sys

FAMILIES = "verify|plan|program|device|decode|bench|sim|calibrate|gemm|kv|c3|ficco|t3|overlap|reproduce|breakdown|published|sweep"
CODE = re.compile(rf'(?:fail|refuse|Diagnostic)[^;]*?"((?:{FAMILIES})\.[a-z_]+)"')


def main(arguments):
    root = pathlib.Path(arguments[0])
    documented = (root / "docs/errors.md").read_text()
    missing = set()
    for folder in ("src", "apps"):
        for path in (root / folder).rglob("*.cpp"):
            if not path.name.endswith("_test.cpp"):
                missing |= {code for code in CODE.findall(path.read_text()) if f"`{code}`" not in documented}
    for code in sorted(missing):
        print(f"docs/errors.md does not tell what {code} means")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
