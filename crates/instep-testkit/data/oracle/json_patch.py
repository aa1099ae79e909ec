"""Applies or makes JSON Patches with the package `jsonpatch`, which shares no code with this project.

Standard input has one case a line: {"do": "apply", "held": ..., "patch": ...} or {"do": "make", "held": ..., "next": ...}.
Standard output has one result a line.
"""

import json
import sys

import jsonpatch

for line in sys.stdin:
    case = json.loads(line)
    if case["do"] == "apply":
        result = jsonpatch.apply_patch(case["held"], case["patch"])
    else:
        result = jsonpatch.make_patch(case["held"], case["next"]).patch
    print(json.dumps(result))
