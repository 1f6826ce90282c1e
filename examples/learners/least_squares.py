"""Which of five regressors are significant at 5 %? Ordinary least squares by statsmodels."""

import numpy as np
import statsmodels.api as sm

SLOPES = np.array([1.0, 0.5, 0.1, 0.0, 0.0])


def rows(rng, size):
    x = rng.normal(size=(size, 5))
    return x, x @ SLOPES + rng.normal(size=size)


def significant(sample, r):
    x, y = sample
    fitted = sm.OLS(y, sm.add_constant(x)).fit()
    return {i for i, p in enumerate(fitted.pvalues[1:]) if p < 0.05}
