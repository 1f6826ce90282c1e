"""One module a question, called as its command, and what several of them share.

pairs.py            rho and churn, which most questions count by; judgement.py puts what pairs show into a verdict
cell_inquiries.py   inquiries into one cell, and into several; rows.py, predictions row by row
integrated.py       rho of a subject whose last step is declared; no_worse.py, rho against a baseline
several.py          several subjects, one error budget; varied.py, what may vary in curve, hunt and choose
"""
