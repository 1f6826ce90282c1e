"""How is randomness shared? Each mechanism with its guarantee, its proof and the probability of a mismatch."""
