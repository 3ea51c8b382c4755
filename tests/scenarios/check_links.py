#!/usr/bin/env python3
"""Every relative link of the documents leads to a file: check_links.py ROOT."""

import pathlib
import re
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")


def main(arguments):
    root = pathlib.Path(arguments[0])
    documents = [path for pattern in ("*.md", "docs/*.md", "src/*.md", "tests/*/*.md", "bench/*.md", "machines/*.md")
                 for path in sorted(root.glob(pattern))]
    broken = [f"{path.relative_to(root)}: {target}" for path in documents for target in LINK.findall(path.read_text())
              if "://" not in target and not (path.parent / target).exists()]
    for text in broken:
        print(f"broken link: {text}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
