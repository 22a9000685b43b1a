"""The application store: what people give the web app, in SQLite or PostgreSQL. Opened when first asked for."""
