//! Services: the table case by case, and real packets through a node.
//!
//! | module | idea |
//! |---|---|
//! | `table` | from objects to the table |
//! | `health` | what balancers outside are told |
//! | `answers` | rules and routes of answers, planned |
//! | `wires` | a node between clients on networks and pods, as namespaces |
//! | `packets` | clients reach pods, by the kernel and through the agent |

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod health;
mod packets;
mod table;
mod wires;
