"""What a low-use job is, and what follows: one definition for pages, API, terminal, chat and enforcement.

The core is pure: `rules` (which rules cover a job), `judge` (evidence to verdict), `ladder` (episodes and steps) and
`decide` (acts within the caps). `queries` asks the sources, viewer first. `store` holds what the enforcer writes down.
Only `enforcer` and `actions` act, and only commands run them.
"""
