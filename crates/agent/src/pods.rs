//! The pods of this node.
