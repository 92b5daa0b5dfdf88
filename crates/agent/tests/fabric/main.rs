//! The embedded cloud on nodes: real namespaces, real packets.
//!
//! | module | idea |
//! |---|---|
//! | `scene` | nodes, the segments between them, and plans in few words |
//! | `paths` | who reaches whom, and who does not |
//! | `guarded` | port security and security groups |
//! | `translated` | address translation of routers |
//! | `converged` | from any state to the plan |

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod converged;
mod guarded;
mod paths;
mod scene;
mod translated;
