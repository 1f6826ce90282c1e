"""How an audit is shown. Every report is drawn from the record alone."""
