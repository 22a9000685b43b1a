"""The enforcement store: ladders and audit. Written by the enforcer's account alone, read-only for everybody else."""
