//! Objects made of objects: how what is declared becomes Services, workloads and records, for every
//! controller that works so.
//!
//! A [`Domain`] says which kinds it looks at, which of them something is made of, and what: a function of
//! what was seen. Everything else is the same for all: mirrors of what is there, the difference to what
//! should be, writes, conflicts, retries, and taking things away in order.
//!
//! | module | idea |
//! |---|---|
//! | [`kinds`] | the kinds that are read and written |
//! | [`plan`] | a plan as a value |
//! | [`writes`] | from what is there to what should be |
//! | [`world`] | what is known of the API |
//! | [`unsure`] | what may be there and was not seen |
//! | [`engine`] | who needs a look, and what is under way |
//! | [`driver`] | watches and writes |

pub mod driver;
pub mod engine;
pub mod kinds;
pub mod plan;
pub mod unsure;
pub mod world;
pub mod writes;

use std::fmt;
use std::time::Duration;

use self::kinds::Kind;
use self::plan::{Context, Plan};
use self::world::{Changed, Spot, World};

/// What one controller makes of what. Each kind is planned for in one domain only, so that every
/// object has one controller.
pub trait Domain: fmt::Debug + Send + Sync {
    /// Under this name the writes appear in managedFields.
    fn manager(&self) -> &'static str;

    /// The kinds that are looked at.
    fn kinds(&self) -> &[Kind];

    /// Whether something is made of objects of this kind here.
    fn is_planned(&self, kind: Kind) -> bool;

    /// What should be there for one object.
    fn plan(&self, context: &Context<'_>) -> Plan;

    /// Who else has to be looked at after a change: not the changed object, and not its owners.
    fn concerned(&self, world: &World, change: &Changed) -> Vec<Spot>;

    /// News of one change bring more: so long they are collected.
    fn settle(&self) -> Duration;
}
