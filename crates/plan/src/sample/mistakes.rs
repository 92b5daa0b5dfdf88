//! Mistakes that people make, each with what should be found.
//!
//! A mistake looks for a place in whatever plan it is given, generated or written by people, and
//! says so when there is none.
//!
//! | module | mistakes |
//! |---|---|
//! | `addresses` | two who may use one address |
//! | `networks` | statements about a network that disagree |
//! | `services` | virtual addresses and attachments that services ask for |
//! | `policies` | node policies, and interfaces that are named elsewhere |
//! | `names` | misspelt fields and names, values that cannot be |
//! | `tools` | finding places and changing what stands there |

#![allow(clippy::ptr_arg, reason = "all mistakes have one signature; some add objects")]

mod addresses;
mod names;
mod networks;
mod policies;
mod services;
mod tools;

use serde_json::Value;

use super::Dice;

/// What should be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The kind of mistake.
    pub mistake: &'static str,
    /// The code.
    pub code: &'static str,
    /// The objects that the finding names, as [`label`](super::label) calls them.
    pub objects: Vec<String>,
}

/// Code and objects of a mistake; `None` when the plan has no place for it.
type Found = Option<(&'static str, Vec<String>)>;

type Mistake = fn(&mut Dice, &mut Vec<Value>) -> Found;

/// All kinds of mistakes, by name.
pub const KINDS: &[(&str, Mistake)] = &[
    ("netconfig range over attachment", addresses::netconfig_over_attachment),
    ("pool over attachment", addresses::pool_over_attachment),
    ("pool over netconfig range", addresses::pool_over_netconfig),
    ("ranges of one netconfig overlap", addresses::own_ranges),
    ("ranges of one pool overlap", addresses::own_pool_ranges),
    ("node address in attachment range", addresses::host_in_attachment),
    ("node address in pool", addresses::host_in_pool),
    ("fixed address in pool", addresses::fixed_in_pool),
    ("fixed address in attachment range", addresses::fixed_in_attachment),
    ("gateway in attachment range", addresses::gateway_in_attachment),
    ("one fixed address for two", addresses::fixed_twice),
    ("one node address for two", addresses::host_twice),
    ("attachments overlap", addresses::attachments_overlap),
    ("range bound outside", addresses::bound_outside),
    ("netconfig vlan", networks::netconfig_vlan),
    ("attachment prefix", networks::attachment_prefix),
    ("node prefix", networks::host_prefix),
    ("netconfig mtu", networks::netconfig_mtu),
    ("attachment mtu", networks::attachment_mtu),
    ("pool announced elsewhere", networks::announced_elsewhere),
    ("host name of another network", networks::host_elsewhere),
    ("status differs", networks::status_differs),
    ("letter case", networks::letter_case),
    ("pool missing", services::pool_missing),
    ("virtual address outside pool", services::vip_outside),
    ("virtual address in no pool", services::vip_nowhere),
    ("virtual address in attachment range", services::vip_in_attachment),
    ("rabbitmq on one address", services::port_clash),
    ("sharing key differs", services::sharing_key),
    ("advertised pool misspelt", services::advertised_pool),
    ("pool not announced", services::not_announced),
    ("type LoadBalancer missing", services::not_balanced),
    ("two addresses of one family", services::odd_addresses),
    ("pool for others", services::not_for),
    ("other traffic policy on a shared address", services::backends),
    ("attachment missing", services::attachment_missing),
    ("attachment misspelt", services::attachment_misspelt),
    ("master misspelt", policies::master_misspelt),
    ("announcing interface misspelt", policies::announcing_misspelt),
    ("policy for all workers", policies::policy_for_all),
    ("two policies for one node", policies::two_policies),
    ("policy patched", policies::policy_patched),
    ("vlan differs on one node", policies::other_vlan),
    ("field misspelt in control plane", names::field_control_plane),
    ("field misspelt in one of our kinds", names::field_own),
    ("field misspelt in attachment", names::field_attachment),
    ("field misspelt in policy", names::field_policy),
    ("field misspelt in pool", names::field_pool),
    ("annotation misspelt", names::annotation),
    ("host name misspelt", names::host_name),
    ("network misspelt in ipset", names::ipset_network),
    ("range outside of subnet", names::refused_range),
    ("pool not understood", names::unreadable_pool),
    ("attachment not understood", names::unreadable_attachment),
    ("object given twice", names::given_twice),
];

/// Makes a random mistake. `None` when the plan has no place for any.
pub fn mutate(seed: u64, objects: &mut Vec<Value>) -> Option<Expected> {
    let start = usize::try_from(seed % KINDS.len() as u64).unwrap_or_default();
    (0..KINDS.len()).find_map(|step| make((start + step) % KINDS.len(), seed, objects))
}

/// Makes the mistake with this position in [`KINDS`], if the plan has a place for it.
pub fn make(kind: usize, seed: u64, objects: &mut Vec<Value>) -> Option<Expected> {
    let (mistake, act) = KINDS.get(kind)?;
    let mut changed = objects.clone();
    let (code, named) = act(&mut Dice::new(seed ^ 0x5eed), &mut changed)?;
    *objects = changed;
    Some(Expected { mistake, code, objects: named })
}
