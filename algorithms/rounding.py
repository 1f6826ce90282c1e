"""Rounding vectors reproducibly. Foams: Algorithm 5, Lemma 5.3, Theorem 5.5. Boxes: Algorithm 6, Lemma 5.12.

Guarantee: a rounding R is drawn from r alone. Foams: Pr[R(x) != R(y)] <= 2 pi |x - y|_2 and |R(x) - x|_2 <= sqrt(d).
Boxes: Pr[R(x) != R(y)] <= |x - y|_1, exactly 1 - prod(1 - |x_i - y_i|) up to distance 1 a coordinate, and
|R(x) - x|_2 <= sqrt(d)/2.

    Z_t   uniform in [0, 1)^d      where stage t puts its droplet
    H_t   uniform in (0, 2^d)      how much of it stands out
    f     prod 2 sin^2(pi x_i)     the droplet's shape, of integral 1

Foams: the paper builds a tiling of space; nothing of it is needed to round one point. R(x) = floor(x + Z_t) at the
first stage t with f(x + Z_t) > H_t, and (r, t) alone decides stage t. A stage accepts a point with probability 2^-d, so
2^d stages are expected, and fewer than 2^(d/2) are taken with probability at most 2^(-d/2): Theorem 5.5's c is sqrt(2).
Both mechanisms are those of `auditor.repair`, where anybody's learner can have them.

Where the paper slips: the last line of Lemma 5.3's proof has its inequality reversed; Lemma 5.12's d eps is loose, as
sqrt(d) eps holds. At equal distance boxes part points less often than foams in every dimension that foams can be run
in; in the theorems foams need fewer rows from d = 5 on.

Cost: foams 2^d stages a point, boxes one addition and floor a coordinate.
"""

from __future__ import annotations

from auditor.repair import block_size as block_size
from auditor.repair import boxes as boxes
from auditor.repair import first_stages as first_stages
from auditor.repair import foams as foams
