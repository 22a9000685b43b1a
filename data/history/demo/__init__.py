"""The simulated cluster's history: the same rows, made by the same builders, of the jobs that live shows."""
