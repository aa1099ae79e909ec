//! What is held, what is owed, and how far: SQLite.
