"""From raw samples to the rows of `jobs/` and `usage/`.

`measure` reads the metrics of many attempts at once and says what each used; `jobs_table` and `usage_table` make rows
of it. To measure one more thing, add it to `AttemptUse` and to the rows.
"""

from data.history.measure.attempts import measure as measure
from data.history.measure.rows import jobs_table as jobs_table
from data.history.measure.rows import usage_table as usage_table
from data.history.measure.use import AttemptUse as AttemptUse
from data.history.measure.use import Hours as Hours
from data.history.measure.use import Measured as Measured
