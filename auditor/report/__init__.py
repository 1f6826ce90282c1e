"""Reports, made from records.

words.py      what a report says of a record, as parts that every format draws
advice.py     what to try after a fail; subject_words.py, what is said in words that the subject's author declares
terminal.py   the parts on a terminal, columns.py tables at any width, progress.py what is shown while an audit runs
several.py    many audits as one table; history.py, those of a ledger over time; notebook.py, a bar in a notebook
page/         one HTML file: document.py makes a page of sections, records.py the sections of records
pictures/     charts as SVG and in characters
formats/      the files that options such as --json and --junit write
"""
