"""From a request to a record: plan, run, ledger, verdict.

run.py        the flow itself; fitness.py, what is checked before anything is counted
question.py   what a question is; verdict.py, its plan and what counts say; record.py, what it leaves behind
ledger.py     what was run before; ledger_file.py, the file that has it
asking.py     `audit` and `ask` in Python, with the types of keywords.py; one_pair.py, a pair again
parts.py      what a report is made of; remedies.py, what would hold in place of a decision that did not
"""
