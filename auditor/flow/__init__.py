"""From a request to a record: plan, run, ledger, verdict."""
