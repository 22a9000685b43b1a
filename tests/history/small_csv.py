"""A small CSV of ended jobs, and the map that says what its columns mean."""

HEAD = "id,begin,end,gpus,util,who\n"
MAP = """
[columns]
cluster = {value = "c"}
job_id = "id"
start_time = "begin"
end_time = "end"
gpu_count = "gpus"
gpu_utilization = "util"
user = "who"
"""
