"""Which of four arms does Thompson sampling end with? A row has what each arm would have paid."""

import numpy as np

PAYS = np.array([0.2, 0.4, 0.5, 0.7])


def rounds(rng, size):
    return (rng.random((size, 4)) < PAYS).astype(int)


def best_arm(sample, r):
    won, lost = np.ones(4), np.ones(4)
    for pays in sample:
        arm = int(np.argmax(r.beta(won, lost)))
        won[arm] += pays[arm]
        lost[arm] += 1 - pays[arm]
    return int(np.argmax(won + lost))
