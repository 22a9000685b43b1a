"""Read the parsable text of Slurm's commands (20.11 and newer), by one reader each.

Run the commands with TZ=UTC and SLURM_TIME_FORMAT=%s: times are read as UTC or epoch seconds. Every reader gives rows
with the broken ones counted, and raises SourceGarbled for what no such command prints.
"""

from data.slurm.accounts import with_users as with_users
from data.slurm.records_text_jobs import jobs as jobs
from data.slurm.records_text_nodes import nodes as nodes
from data.slurm.records_text_nodes import partitions as partitions
from data.slurm.records_text_nodes import reservations as reservations
from data.slurm.records_text_sacct import SACCT_DELIMITER as SACCT_DELIMITER
from data.slurm.records_text_sacct import SACCT_FIELDS as SACCT_FIELDS
from data.slurm.records_text_sacct import sacct_jobs as sacct_jobs
from data.slurm.records_text_tables import ASSOCIATION_FIELDS as ASSOCIATION_FIELDS
from data.slurm.records_text_tables import SPRIO_FORMAT as SPRIO_FORMAT
from data.slurm.records_text_tables import USER_FIELDS as USER_FIELDS
from data.slurm.records_text_tables import associations as associations
from data.slurm.records_text_tables import priorities as priorities
from data.slurm.records_text_tables import users as users
