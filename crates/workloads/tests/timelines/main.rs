//! The engine against a simulated API.
//!
//! | module | idea |
//! |---|---|
//! | `server` | an API as far as this needs one, with kubelets that can be asked to work |
//! | `operator` | one instance of the controllers with its own, late view |
//! | `lab` | both together, and words to write tests in |
//! | `services` | EndpointSlices: case by case, and random timelines |
//! | `tables` | what upstream is known to do, case by case |
//! | `chaos` | random timelines |
//! | `growth` | how the cost grows |

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod chance;
mod chaos;
mod growth;
mod lab;
mod operator;
mod server;
mod services;
mod tables;
