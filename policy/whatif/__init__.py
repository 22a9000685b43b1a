"""What a rule would have done: replayed over the profiles of jobs that have ended. Pure."""
