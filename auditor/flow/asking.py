"""How is a question asked in Python? `audit` and `ask`, with every keyword in their docstrings.

docs/make_keywords.py writes what stands below `Keywords`, from the tables of options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.files import starting_here
from auditor.flow.question import make_request
from auditor.flow.remedies import with_remedies
from auditor.flow.run import answer
from auditor.sources.source import as_sources

if TYPE_CHECKING:
    from typing import Unpack

    from auditor.flow.keywords import AskKeywords, AuditKeywords
    from auditor.flow.record import Record
    from auditor.subjects.estimators import Learner


@starting_here()
def audit(subject: Learner, source: object = None, **keywords: Unpack[AuditKeywords]) -> Record:
    """Run a learner on pairs of fresh samples until it is known whether two runs differ with probability at most rho.

        record = auditor.audit(fit, "norm(0, 1)", size=1000, rho=0.1)
        record.verdict, record.rho  # "pass", "fail" or "inconclusive"; an interval for rho

    `subject` is a function A(sample, r), an estimator, or a target such as "module:fn". `source` is where samples come
    from: a spec such as "bernoulli(0.5)", a file such as "data.csv#label", a function fn(rng, size), a frozen
    scipy.stats distribution, rows, or a list of several of these, of which the worst counts. What is not given is
    taken from the subject's declarations.

    Some keywords ask another question than rho: eta and nu for (eta, nu)-reproducibility, list_size and eta for a list
    of outputs, loss for generalisation, measure="churn" for the share of predictions that change.

    Raises auditor.AuditorError where nothing can be run. A subject that fails on the way gives a record that says so:
    its verdict is "error".

    Keywords, the same as the options of `check` on the command line; in place of module:fn give the function itself:

    What is audited:

    - `size`: Number of rows in a sample (default: what the subject declares, or what the data set has).
    - `sample`: Give the subject samples as rows, or as counts of each value of a discrete source (default: rows,
      unless the subject declares counts).
    - `params`: Parameters of the subject, by name, e.g. {"tau": 0.1} (default: the subject's own values).
    - `view`: The part of the output that is compared: "round(3)", "predict", "partition", "support", "attr(x)|sign",
      or a function of the output, or of the output and the probe (default: what the subject declares; predictions for
      an estimator; else all of it).
    - `atol`: Two numbers that differ by at most this count as the same (default: 0).
    - `rtol`: Two numbers that differ by at most this share of the larger one count as the same (default: 0).
    - `probe`: Points at which predictions are compared, a number or a file (default: the distinct rows of a data set,
      1000 at most; 1000 rows from any other source).
    - `resample`: How samples are drawn from a data set: bootstrap, split or subsample for independent rows; blocks or
      blocks(20) for a time series; groups(column) or split(column) for rows that belong together; strata or
      strata(column) to keep the shares of classes (default: what the subject declares, else bootstrap).
    - `as_`: Read a csv or parquet file as pandas, polars, columns (a dict of arrays) or numpy (default: numpy, unless
      columns are named).
    - `accept_overlap`: With resample="subsample": accept a verdict on samples that share rows.
    - `randomness`: The type of r: Generator, int, RandomState, Random, torch, jax or none (default: by the annotation,
      the default or the name of r, else Generator).
    - `seed`: Seed from which all randomness is derived (default: 0).
    - `inputs`: Audit several inputs x, of which the worst counts: [3, 5], or {"n": range(9)} for another name
      (default: none).
    - `private`: For A(sample, r, private): whether two runs share private: shared, unshared or both (default: both
      where rho is asked for, else unshared).
    - `score`: How a fit is scored on rows that it has not learnt from: a scorer of scikit-learn's by its name, or
      module:fn, called fn(output, X, y) (default: the estimator's own score).

    How sure:

    - `confidence`: Confidence of the verdict (default: 0.95).
    - `fixed`: Run exactly N pairs and judge once (default: stop as soon as there is a verdict).
    - `rho`: The mismatch probability that you accept (default: what the subject claims, else 0.1).
    - `pairs`: Maximum number of pairs (default: 100 / rho).
    - `score_at_least`: Pass only if the mean score of the fits is at least this, too: a learner that ignores its data
      is stable (default: the score is not judged).
    - `no_integrate`: Count the outputs that differ, and do not use the mismatch probability that the subject computes
      for each pair.

    Other questions:

    - `measure`: What rho limits: rho, the probability that two outputs differ, or churn, the share of predictions that
      change (default: rho).
    - `scale`: The distance of two numbers that count as wholly different: churn is then the mean of min(1, |a - b| /
      S) over the predictions (default: numbers are the same, or they differ).
    - `by`: Say for which rows predictions change most, grouped by this column of the data (default: no groups).
    - `loss`: Ask whether outputs generalise: count the runs whose expected loss on a fresh row exceeds the mean loss
      on their own sample by more than sqrt(ln(1 / delta) / (2 size)). FN is module:fn, called fn(output, rows), and
      returns a loss in [0, 1] for each row (default: not asked).
    - `delta`: With loss: the share of runs that may exceed it by chance alone (default: 0.05). A subject's own delta,
      the share of runs that may be inaccurate, is another one.
    - `eta`: With nu: how often a good r may give another output than its usual one. With list_size: the share of
      outputs that may be outside the list. Both need it (default: none).
    - `nu`: With eta: ask whether all but this share of the random strings r are good, which means that they give one
      output with probability at least 1 - eta (default: not asked).
    - `beta`: With nu: the share of r whose usual output may be inaccurate (default: not asked).
    - `runs`: With nu: number of runs with each r (default: 2 / eta, at least 4). With list_size L: maximum number of
      runs (default: 100 / eta + 10 L / (1 - eta)).
    - `strings`: With nu: maximum number of random strings r that are tried, each with runs runs (default: 100 / nu).
    - `list_size`: With eta: ask whether some L outputs together have probability at least 1 - eta, over fresh samples
      and fresh r (default: not asked).

    How to run:

    - `jobs`: Number of worker processes (default: 1); None chooses it from the time one run takes.
    - `timeout`: Seconds that one run, or one draw of a sample, may take; one that takes longer ends the audit
      (default: no limit).
    - `memory`: Memory that a worker process may use, e.g. 2G (default: no limit).
    - `on_error`: What a run that raises or dies does: stop ends the audit; bottom counts such a run as one more
      output, the same for all of them (default: stop).
    - `ledger`: Keep the outcome of every finished pair in this SQLite file (default: nothing is kept).
    - `resume`: Continue the unfinished audit of ledger.
    - `cluster`: Run on a Dask cluster: tls://HOST:8786, tcp://HOST:8786 in a network that you trust, or local:4 for
      four workers on this machine (default: no cluster).
    - `for_`: Start no new run after this time: a number of seconds, "5m" or "1h" (default: no limit).
    - `rows`: Write a line for each probe row to this csv or parquet file: how often its prediction changes, between
      what, and its own columns (default: none).

    For Python alone:

    - `executor`: Run in the processes of this concurrent.futures.Executor, such as ProcessPoolExecutor(4), loky's, or
      a Dask client's get_executor() (default: no executor). The record is the same, and the executor is not shut down.
      Each of its processes starts a worker process for the subject, so timeout and memory hold there too. Threads are
      refused.
    - `second_process`: Run pair 0 once more in a second process, with another hash seed and its runs in the other
      order (default: True). False saves that process, and gives up noticing hidden state that only another process or
      another hash seed shows: the order of a set, hash(), what earlier runs left behind, files that a run writes for a
      later one. A ledger then does not know which files the runs read. The record says that it was skipped.
    - `family`: Number of audits that must pass together; each fails with its share of the error (default: 1).
    - `baseline`: What was counted before, for a subject that is to get no worse.
    """
    request = make_request(None, subject, as_sources(source), {"jobs": 1, **keywords})
    return with_remedies(request, answer(request))


@starting_here()
def ask(question: str, subject: Learner, source: object = None, **keywords: Unpack[AskKeywords]) -> Record:
    """Ask any question about a learner by its name; each is also a command of the command line.

        record = auditor.ask("curve", fit, "norm(0, 1)", vary={"size": [100, 1000, 10_000]})

    `subject` and `source` are as in `audit`. A question that another package adds is asked in the same way; type
    checkers accept its own keywords from a dict, `options: dict[str, Any]`, as **options.

    Keywords, by question; in place of module:fn give the function itself:

    Every question takes `size`, `sample`, `params`, `view`, `atol`, `rtol`, `probe`, `resample`, `as_`,
    `accept_overlap`, `randomness`, `seed`, `confidence`, `jobs`, `timeout`, `memory`, `on_error`, `ledger`, `resume`,
    `cluster`, `for_`, `executor`, `second_process`, as in `audit`.

    `rho`, `churn`, `loss`, `nu`, `list_size`: what `audit` asks, with the same keywords.

    `choose`: Which settings of the subject are both accurate and stable? Runs its code.

    - `vary`: Parameters and their values, {"max_depth": [2, 4, 8], "n_estimators": [50, 200]}: all combinations are
      candidates; or texts as on the command line, "max_depth=2,4,8" (default: none).
    - `settings`: The candidates, a dict of parameters for each: [{"max_depth": 2}, ...], or a csv or JSON file
      (default: none).
    - `targets`: Further learners to choose from, each with the parameters of vary that it has (default: none).
    - `score_within`: How far below the best score the score of the one to take may be (default: 0.05).
    - `measure`: What is to be small: rho, the probability that two outputs differ, or churn, the share of predictions
      that change (default: churn for predictions, else rho).
    - `margin`: By how much another candidate may be more stable (default: 0.05).
    - `pairs`: Maximum number of pairs of each candidate (default: 100 / the smaller tolerance).
    - `score`, `scale`: as in `audit`.

    `compare`: Is the new version of a learner less reproducible than the old one? Runs the code of both.

    - `old`: The old version, if it is another target or function (default: the subject itself).
    - `against`: Take the old version from a git revision, e.g. HEAD~1 or main (default: the files as they are).
    - `old_param`: Parameters of the old version alone, by name (default: those of the new one).
    - `old_python`: Run the old version with the Python of another environment (default: this one).
    - `margin`: By how much rho may rise (default: 0.05).
    - `pairs`: Maximum number of pairs (default: 100 / margin).
    - `private`: For A(sample, r, private): whether two runs share private: shared or unshared (default: unshared).

    `curve`: How does rho of the subject move with its size, a parameter, or an argument of its source? Runs its code.

    - `vary`: What varies, with its values: {"size": [100, 1000]}; or, as on the command line, "size=100:1e6:log12",
      "tau=0.05,0.1", or "p=0.4:0.6:lin21" for {p} in the source (required).
    - `worst`: Search for the value with the largest rho, and confirm it on fresh pairs.
    - `pairs`: Number of pairs in all (default: 1000 for each value, or 500 for a subject that declares its last step).
    - `score`, `no_integrate`: as in `audit`.

    `estimate`: How often do two runs of the subject on fresh samples differ? An estimate without a target. Runs its
    code.

    - `half_width`: Stop once the interval is at most twice this wide (default: 0.05).
    - `pairs`: Maximum number of pairs (default: as many as are always enough).
    - `measure`: What is estimated: rho, the probability that two outputs differ, or churn, the share of predictions
      that change (default: rho).
    - `scale`, `rows`, `by`, `score`: as in `audit`.

    `explain`: Why do two runs of the subject differ on fresh samples with the same r? Runs its code, and says what to
    change.

    - `pairs`: Maximum number of pairs in one experiment (default: 100 / rho). All experiments together take at most 6
      times as many.
    - `trace`: Also look for the first local variable that differs although its inputs do not; this is a hint only, and
      slow.
    - `fixed`, `inputs`, `private`, `family`, `rho`, `measure`, `scale`, `rows`, `by`, `score`, `score_at_least`,
      `no_integrate`, `baseline`: as in `audit`.

    `hunt`: For which source of a family is rho largest, and is it more than you accept? Runs the code of the subject.

    - `over`: The sources to search: "bernoulli({p})", simplex(5), "mixture(A, B)" or module:fn (default: source
      alone).
    - `range`: Ranges of {NAME} in over, of a parameter or of the size, by name, e.g. {"p": (0, 1)}.
    - `pairs`: Number of pairs that the search may run; confirmations have their own (default: 20000).
    - `accept_search`: Let a search that finds nothing pass, with exit code 0.
    - `rho`, `no_integrate`: as in `audit`.

    `price`: From how many rows on does the subject keep its claims? Runs its code.

    - `pairs`: Maximum number of pairs in all (default: 2000 / rho, and 2000 / delta more for a subject that declares
      that at most a share delta of its runs are inaccurate; 200 / rho and 200 / delta for one that declares its last
      step).
    - `most`: Largest number of rows that is tried (default: no limit).
    - `rho`, `score`, `no_integrate`: as in `audit`.

    `repair`: Which wrapper makes the subject reproducible, and at what price? Runs its code, and prints the code to
    paste.

    - `pairs`: Maximum number of pairs in each audit (default: 100 / rho).
    - `measure`: What rho limits: rho, the probability that two outputs differ, or churn, the share of predictions that
      change (default: churn for predictions, else rho).
    - `loss`: Measure what a repair loses by module:fn, which is called fn(output, rows) and returns a loss in [0, 1]
      for each row (default: no loss is measured).
    - `with_`: Audit this repair alone, e.g. "rounded(width=0.2)"; or find the settings of a wrapper, e.g. chosen
      (default: the repairs that fit the output).
    - `rho`: as in `audit`.

    `reuse`: Does reusing one sample move an adaptive analyst's transcripts by at most (M - 1) rho? Runs their code.

    - `analyst`: The analyst: module:fn, called fn(ask, rng) (required).
    - `queries`: Maximum number of queries that the analyst asks (required).
    - `rho`: The rho of each answer (default: what the subject claims, else 0.1).
    - `fixed`: Number of trials, judged once at the end (default: 400).
    """
    return answer(make_request(question, subject, as_sources(source), {"jobs": 1, **keywords}))
