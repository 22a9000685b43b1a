"""Questions with known answers, asked of the configured model on the simulated cluster, and a score per kind.

The right answers are computed from the queries when the questions are made: no number is written down here.
"""

from chat.evaluation.model import Asked as Asked
from chat.evaluation.model import Kind as Kind
from chat.evaluation.model import Question as Question
from chat.evaluation.model import Score as Score
from chat.evaluation.questions import questions as questions
from chat.evaluation.running import evaluate as evaluate
