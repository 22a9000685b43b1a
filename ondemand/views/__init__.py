"""One file per view: an answer in, what stands in the page out. They never fetch."""
