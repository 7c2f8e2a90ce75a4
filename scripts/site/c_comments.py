#!/usr/bin/env python3
"""A C header with its comments as Doxygen wants them: /** before a declaration, /**< behind one."""
import re
import sys

text = open(sys.argv[1]).read()
text = re.sub(r"^/\*.*?\*/\n", lambda m: "\n" * m[0].count("\n"), text, count=1, flags=re.S)  # of the file: reference.py has it
text = re.sub(r"(?<=[;,{}\w])([ \t]*)/\* ", r"\1/**< ", text)
text = re.sub(r"^(\s*)/\* (?!---)", r"\1/** ", text, flags=re.M)
# A comment of several lines behind a declaration goes on in lines of its own.
sys.stdout.write(text)
