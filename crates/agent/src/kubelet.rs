//! What an API server asks of a node.
