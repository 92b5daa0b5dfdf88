//! The view across kinds: one address plan, and what contradicts it.
