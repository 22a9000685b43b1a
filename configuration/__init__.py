"""The sections of the settings by subject. A leaf: imports nothing of ours."""
