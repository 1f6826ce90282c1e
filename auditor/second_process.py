"""`python -m auditor.second_process`: runs pair 0 of a request read from standard input, the second run first.

The preflight compares the fingerprint with its own. It differs where the subject depends on the hash seed, or on
what an earlier run left behind.
"""

from __future__ import annotations

import json
import os
import sys

from auditor.outcome import fingerprint
from auditor.randomness import root_key
from auditor.sampling import load_source
from auditor.subjects import load_subject
from auditor.trial import Bench


def main() -> None:
    request = json.load(sys.stdin)
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever the subject prints is not the answer
    subject = load_subject(request["target"], texts=request["texts"], randomness=request["randomness"])
    bench = Bench(subject, load_source(request["source"]), request["size"], root_key(request["seed"]))
    bench.run(0, 1)
    json.dump({"fingerprint": fingerprint(bench.run(0, 0))}, answer)
    answer.close()


if __name__ == "__main__":
    main()
