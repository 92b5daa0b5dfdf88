//! Node policies.
