//! What the program does with manifests, apart from reading arguments and printing: so that tests go
//! the whole way from text to diagnostics without starting a process for each of thousands of plans.
//!
//! | module | idea |
//! |---|---|
//! | [`codes`] | every code a diagnostic can have |
//! | [`manifests`] | files, directories and standard input as documents, a plan and diagnostics |

pub mod codes;
pub mod manifests;
