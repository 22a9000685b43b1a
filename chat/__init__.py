"""The assistant: answers in words from the same numbers as pages, API and terminal. Knows no web framework."""
