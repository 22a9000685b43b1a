"""The tools of the assistant: typed functions over the queries and verdicts, each run as the one who asks.

    TOOLS: Mapping[str, Tool]
    call(asker, name, arguments, call_id) -> ToolResult     never raises: what goes wrong is a result with words
    schemas() -> list[dict]                                 for a server with the OpenAI API

Values are JSON. A number's unit is the end of its key: `_ratio` (0..1), `_seconds`, `_bytes`, `_bytes_per_second`,
`_gpu_hours`, `_watts`, `_celsius`, `_kwh`, `_amount` (of money, see `currency`); a number without such an end is a
count or an index. Null is not measured or not known, never 0. Keys that end in `_at` are times in UTC. Lists of
bounded length are objects of `rows`, `rows_total` and `rows_left_out`; means come with `coverage_ratio` or with the
number of what was measured. What people wrote themselves stands under `job_name`, `comment`, `admin_comment`, `reason`
and `excerpt`. To add a tool, write a function in one of these modules and name it in `calling`.
"""

from chat.tools.calling import TOOLS as TOOLS
from chat.tools.calling import call as call
from chat.tools.calling import schemas as schemas
from chat.tools.registry import Tool as Tool
