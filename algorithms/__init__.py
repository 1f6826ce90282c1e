"""The algorithms of "Reproducibility in Learning" (Impagliazzo, Lei, Pitassi, Sorrell, 2022) as reference subjects.

Each file is what a stranger could have written: it uses auditor's public names only. `PAPER` maps what the paper
proves to the module that carries it.
"""

PAPER = {
    "Algorithm 1, Theorem 2.3": "algorithms.statistical_query",
    "Algorithm 2, Lemma 3.3": "algorithms.heavy_hitters",
    "Claim 3.5": "algorithms.point_mass",
    "Algorithm 3, Theorem 4.2, Lemma 4.3": "algorithms.median",
    "Algorithm 4, Theorem 5.2, Algorithm 7, Theorem 5.14": "algorithms.halfspace",
    "Algorithm 5, Lemma 5.3, Algorithm 6, Lemma 5.12": "algorithms.rounding",
    "Algorithm 8, Theorem 6.1, Corollary 6.5, Remark 6.6": "algorithms.boosting",
    "Algorithm 9, Lemma 6.2, Lemma 6.4": "algorithms.rejection",
    "Theorem 7.1, Lemma 7.2": "algorithms.coin_problem",
    "Theorem A.3, Corollary A.4": "algorithms.amplification",
    "Lemma A.6": "algorithms.generalisation",
    "Lemma A.7": "algorithms.data_reuse",
}
