"""The commands by subject: parse, ask, hand the answer to the screen. Nothing here prints or exits."""
