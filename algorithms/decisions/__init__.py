"""Decisions that people make from a table, ready to audit without a line of code.

    python -m auditor check winner --source scores.csv

The rows are items, visitors or questions; the columns are models, variants or arms. Each decision is a plain function
of the table, and has a reproducible sister, `r_...`, which decides with randomness that both runs share:

    winner, ranking, top    which column is the best, the order of all, the k best        `winners`
    beats                   is one column better than another, by a test                  `beats`

What is audited on a file speaks of redraws of its rows, and not of fresh rows: see docs/definitions.md.
"""
