"""Finished jobs, hourly usage, allocations and past snapshots as hive-partitioned Parquet, and their collector."""
