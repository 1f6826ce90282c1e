"""Records in other tools' terms. Nothing of the auditor imports these: who uses the tool does."""
