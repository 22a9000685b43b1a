"""One pass of `fullwarp enforce`: look, decide, write down, look once more, act, write down. Only commands run it."""
