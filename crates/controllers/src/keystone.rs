//! What control planes declare for Keystone, registered in it: services and their endpoints.
//!
//! ```text
//!  KeystoneService  ─▶ Record ─┐            ┌─▶ steps in Keystone     create, correct, take away
//!  KeystoneEndpoint ─▶ Record ─┼─▶ plan ────┤
//!  KeystoneAPI (its region) ───┤  (pure)    └─▶ finalizer, status     who owns what, and how it is doing
//!  Keystone's catalogue ───────┘
//! ```
//!
//! Every round looks at all of it anew and does the difference, so whatever somebody changes in Keystone
//! comes back, and a controller that dies anywhere, or runs twice, ends in the same state:
//!
//! - Before anything is registered the object gets a finalizer, and its status says what will be:
//!   what was made is always found again to be taken away.
//! - What is there already under the same name and type is taken over, not made a second time.
//! - What nobody declared is left alone, and named where it is in the way.
//!
//! | module | idea |
//! |---|---|
//! | [`record`] | what one object declares, and what it has claimed |
//! | [`plan`] | what has to be done for it |
//! | [`steps`] | what is done in Keystone |
//! | [`round`] | one look at everything |
//! | [`told`] | conditions and status |
//! | [`driver`] | watches and writes |

pub mod driver;
pub mod plan;
pub mod record;
pub mod round;
pub mod steps;
pub mod told;

use std::time::Duration;

pub use self::driver::run;

/// What can be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The region of endpoints, where no KeystoneAPI says.
    pub region: String,
    /// How often Keystone is looked at when nothing changes: what somebody changes there comes back.
    pub period: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { region: "regionOne".to_owned(), period: Duration::from_secs(8) }
    }
}
