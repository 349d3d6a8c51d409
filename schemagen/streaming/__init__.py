"""Parts of an answer while it is written: events, fields and partial instances."""
