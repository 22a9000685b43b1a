"""The live picture: one consistent snapshot, refreshed once for all who ask."""

from data.live.cluster import LiveCluster as LiveCluster
from data.live.picture import Picture as Picture
