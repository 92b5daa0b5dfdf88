//! Cases with a name, each told from beginning to end.
