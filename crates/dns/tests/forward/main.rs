//! The forwarder on a virtual clock: tables of single situations, and thousands of random timelines.

mod cases;
mod timelines;
mod world;
