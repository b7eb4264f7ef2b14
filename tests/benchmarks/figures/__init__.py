"""The papers' figures and tables: workflows that repeat them, and what is read from their reports."""
