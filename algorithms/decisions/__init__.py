"""Decisions that people make from a table, ready to audit without a line of code.

    python -m auditor check winner --source scores.csv

Each decision is a plain function of a table, and has a reproducible sister, `r_...`, which decides with randomness that
both runs share:

    winner, ranking, top        which column is the best, the order of all, the k best        `winners`
    beats                       is one column better than another, by a test                  `beats`
    significant_columns         which of many columns are better than nothing                 `significance`
    features                    which k features are selected                                 `features`
    clusters, cluster_members   how many clusters, and which rows belong together             `clusters`
    cutoff                      the score at which a decision changes                         `cutoffs`
    changepoint, trend          when did it change, and does it rise                          `times`
    group_report                the n largest groups of a column                              `groups`

What is audited on a file speaks of redraws of its rows, and not of fresh rows: see docs/definitions.md.
"""
