"""Profiles as one Arrow column, made of whole arrays: a list per attempt, null where nothing was measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from data.history.measure.use import NOT_MEASURED, Profile


def profile_column(profiles: Sequence[Profile | None], kind: pa.StructType) -> pa.StructArray:
    """The column `profile` of `jobs/`; None stays null."""
    known = [profile for profile in profiles if profile is not None]
    lengths = [0 if profile is None else len(profile.mean) for profile in profiles]
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    lists = [_lists([getattr(profile, name) for profile in known], offsets) for name in ("mean", "maximum", "measured")]
    steps = pa.array([None if profile is None else profile.step_seconds for profile in profiles], pa.int32())
    is_null = pa.array([profile is None for profile in profiles], pa.bool_())
    return pa.StructArray.from_arrays([steps, *lists], fields=list(kind), mask=is_null)


def _lists(parts: Sequence[np.ndarray[tuple[int], np.dtype[np.uint8]]], offsets: pa.Array) -> pa.ListArray:
    values = np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint8)
    return pa.ListArray.from_arrays(offsets, pa.array(values, pa.uint8(), mask=values == NOT_MEASURED))
