"""Where samples come from: distributions, data sets, finite laws, counts.

source.py         the contract, and which source a text or an object names; sample.py, what a sample is
distribution.py   scipy.stats; law.py, finitely many values and exact laws
datasets.py       files, arrays and tables; resampling.py, how samples are drawn from them; series.py, rows in time
frames.py         tables of any library; items.py, lists; tables.py, files; sklearn_data.py, scikit-learn's data
shifts.py         sources made of other sources
"""
