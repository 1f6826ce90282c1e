"""The algorithms of "Reproducibility in Learning" (Impagliazzo, Lei, Pitassi, Sorrell, 2022) as reference subjects.

Each file is what a stranger could have written: it uses auditor's public names only. `PAPER` maps what the paper
proves to the module that carries it.
"""

PAPER = {
    "Algorithm 1, Theorem 2.3": "algorithms.statistical_query",
    "Algorithm 2, Lemma 3.3": "algorithms.heavy_hitters",
    "Algorithm 3, Theorem 4.2, Lemma 4.3": "algorithms.median",
}
