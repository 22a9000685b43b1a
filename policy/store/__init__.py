"""What the enforcer writes down, as values: ladders, audit, mails under way, and who was told what."""
