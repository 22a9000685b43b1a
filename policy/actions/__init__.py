"""The outward acts: mail, cancellation, a job's comment, a chat's webhook. Only commands may import this package."""
