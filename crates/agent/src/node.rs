//! The Node object.
