"""Read Slurm's JSON: slurmrestd (data_parser v0.0.37 and newer) and `--json` of the commands, by one reader each.

Every reader takes an answer (object, text or bytes) and the cluster's name, and gives rows with the broken ones
counted. They raise what errors[] says (SourceDenied, NotFound ...) and SourceGarbled for what is no answer of Slurm's.
"""

from data.slurm.accounts import with_users as with_users
from data.slurm.answers import check_errors as check_errors
from data.slurm.answers import decoded as decoded
from data.slurm.answers import slurm_version as slurm_version
from data.slurm.records_json_accounting import accounting_jobs as accounting_jobs
from data.slurm.records_json_accounts import associations as associations
from data.slurm.records_json_accounts import users as users
from data.slurm.records_json_jobs import jobs as jobs
from data.slurm.records_json_nodes import nodes as nodes
from data.slurm.records_json_sites import partitions as partitions
from data.slurm.records_json_sites import reservations as reservations
