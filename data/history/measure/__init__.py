"""From raw samples to the rows of `jobs/` and `usage/`.

`attempts.measure(jobs, metrics, now=..., settings=..., since=None, suspensions=None, inventory=None, nodes=(),
partitions=())` gives `Measured`: ended attempts are read whole, running ones from `since` on. `metrics=None` reads
nothing: JS1 summaries and Slurm's own numbers count. `rows.jobs_table(uses, collected_at=..., account_path=...)` and
`rows.usage_table(...)` make Arrow tables of the datasets' schemas of any number of `AttemptUse`.
"""

from data.history.measure.use import AttemptUse as AttemptUse
from data.history.measure.use import Hours as Hours
from data.history.measure.use import Measured as Measured
