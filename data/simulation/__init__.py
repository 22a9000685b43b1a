"""The simulated cluster "larch": a world that is a pure function of (seed, absolute instant)."""

from data.simulation.world import World as World
