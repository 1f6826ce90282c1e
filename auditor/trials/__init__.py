"""What one trial is, where its samples and r come from, and whether the subject is fit for one."""
