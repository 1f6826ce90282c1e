"""What is audited: a function and its declarations, what it takes, and what of its outputs is compared.

subject.py      the subject, and which one a target names; signature.py, which parameter is what
estimators.py   anything with fit; fitting.py, by which method an object learns; programs.py, other languages
finishing.py    a learner whose randomness acts last; inputs.py, auxiliary inputs; objects.py, objects as texts
views.py        what of an output is compared; view_functions.py, what each view makes of it; churn.py, how far apart
scoring.py      how good a fit is; own_code.py, which code is the user's; table.py, what a package offers
"""
