"""The one consistent picture: nodes, jobs and a reading of the metrics become one row per GPU. Pure."""

from data.join.cluster import Joined as Joined
from data.join.cluster import join as join
from data.join.holding import holds as holds
from data.join.state import SignalLimits as SignalLimits
