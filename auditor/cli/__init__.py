"""The command line and the pytest plugin.

command_line.py   the commands together, and what becomes of errors
commands/         one file a command; check.py also makes one of every question that has none of its own
options.py        how what is typed is read; output.py, where reports go; running.py, how somebody's code is run
several.py        many subjects, one error budget; config.py and baseline.py are the files of `gate`
pytest_plugin.py  a learner as a test; assertion.py, an audit as an assertion
schema.py         the JSON schema of a project's configuration
"""
