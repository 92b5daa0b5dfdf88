//! Reservations: what keeps ranges that overlap from giving one address twice.
//!
//! A reservation names its container, so a late DEL of an old container does not take the
//! reservation of a new one of the same pod.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use landbridge_cni::whereabouts::{Reservation, reservation_address};

use super::batch::Holder;
use crate::objects::{ObjectError, Objects, Reserved};

/// How often one that changes again and again is looked at.
const TRIES_MAX: usize = 16;
/// How many are remembered; a node has some hundred pods.
const MADE_MAX: usize = 16 << 10;

/// All of them.
pub(super) struct Reservations {
    objects: Arc<dyn Objects>,
    /// Those this process made, by name: the container, and the state it made. Deleting that very
    /// state needs no reading.
    made: Mutex<BTreeMap<String, (String, String)>>,
}

/// A reservation that was in the way.
enum Found {
    /// It went away meanwhile.
    Nothing,
    /// It is this interface's.
    Ours,
    /// It is another's.
    Others(String),
}

impl Reservations {
    pub fn new(objects: Arc<dyn Objects>) -> Self {
        Self { objects, made: Mutex::default() }
    }

    /// Reserves an address. `Some`: another holds it.
    pub fn take(
        &self,
        name: &str,
        holder: &Holder,
        end: Instant,
    ) -> Result<Option<String>, ObjectError> {
        let spec = holder.reservation();
        loop {
            let outcome = match self.objects.create_reservation(name, &spec) {
                Ok(version) => {
                    self.remember(name, holder, version);
                    return Ok(None);
                }
                Err(ObjectError::Conflict(_)) => self.take_over(name, &spec),
                Err(error) => Err(error),
            };
            match outcome {
                Ok(Found::Ours) => return Ok(None),
                Ok(Found::Others(holder)) => return Ok(Some(holder)),
                Ok(Found::Nothing) => {}
                Err(error @ ObjectError::Refused(_)) => return Err(error),
                Err(error) if Instant::now() >= end => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// There is a reservation already: whose, and ours it becomes if it was this interface's.
    fn take_over(&self, name: &str, spec: &Reservation) -> Result<Found, ObjectError> {
        let Some(found) = self.objects.reservation(name)? else { return Ok(Found::Nothing) };
        if let Some(other) = other_holder(&found.spec, &spec.podref, &spec.ifname) {
            return Ok(Found::Others(other));
        }
        if found.spec.containerid != spec.containerid {
            let ours = Reserved { spec: spec.clone(), ..found };
            self.objects.replace_reservation(name, &ours)?;
        }
        Ok(Found::Ours)
    }

    /// One was made for that container, and has this state.
    pub fn remember(&self, name: &str, holder: &Holder, version: String) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.len() >= MADE_MAX {
            made.clear();
        }
        made.insert(name.to_owned(), (holder.container_id.clone(), version));
    }

    /// Deletes the reservation if it is this container's.
    pub fn give_back(&self, name: &str, holder: &Holder) -> Result<(), ObjectError> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        if let Some((container, version)) = made
            && container == holder.container_id
        {
            match self.objects.delete_reservation(name, &version) {
                Err(ObjectError::Conflict(_)) => {}
                other => return other,
            }
        }
        for _ in 0..TRIES_MAX {
            let Some(found) = self.objects.reservation(name)? else { return Ok(()) };
            let foreign = other_holder(&found.spec, &holder.podref, &holder.ifname).is_some();
            let container = &found.spec.containerid;
            if foreign || (!container.is_empty() && *container != holder.container_id) {
                return Ok(());
            }
            match self.objects.delete_reservation(name, &found.resource_version) {
                Err(ObjectError::Conflict(_)) => {}
                other => return other,
            }
        }
        Err(ObjectError::Conflict(format!("{name} changes again and again")))
    }

    /// What others have reserved, and who.
    pub fn of_others(
        &self,
        network_name: &str,
        holder: &Holder,
    ) -> Result<BTreeMap<IpAddr, String>, ObjectError> {
        let found = self.objects.reservations()?;
        let others = found.iter().filter_map(|(name, reserved)| {
            let address = reservation_address(network_name, name)?;
            Some((address, other_holder(&reserved.spec, &holder.podref, &holder.ifname)?))
        });
        Ok(others.collect())
    }
}

/// Who holds a reservation, unless it is this interface. Old reservations name no interface.
fn other_holder(found: &Reservation, podref: &str, ifname: &str) -> Option<String> {
    let ours = found.podref == podref && (found.ifname.is_empty() || found.ifname == ifname);
    let text = if found.ifname.is_empty() {
        found.podref.clone()
    } else {
        format!("{} ({})", found.podref, found.ifname)
    };
    (!ours).then_some(text)
}
