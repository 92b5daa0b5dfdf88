//! The address plugin `whereabouts`, in its own records and without its lock.
//!
//! ADD: a record in the pool (with all others that wait, see [`pools`]), then the reservation that
//! overlapping ranges look at. DEL: the reservation first, then the record. So at every instant at
//! which a call may break off the record is there for the next call, or for [`crate::reconcile`],
//! to find. What IPSets may have, too, is claimed before it is recorded ([`crate::claims`]). A reservation names its container, so a late DEL of an old container does not take the
//! reservation of a new one of the same pod.
//!
//! The seam to whoever runs plugins is one shape: the configuration a plugin reads on standard
//! input ([`Input`]) and its environment ([`Environment`]).

mod batch;
mod pools;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ipnet::IpNet;
use landbridge_addr::net::Range;
use landbridge_cni::config::Input;
use landbridge_cni::environment::Environment;
use landbridge_cni::error::{CniError, Code, Coded};
use landbridge_cni::json::Object;
use landbridge_cni::result::CniResult;
use landbridge_cni::whereabouts::{
    Ipam, RangeSettings, Reservation, Usable, merge_flat_file, pool_name, reservation_address,
    reservation_name,
};
use serde_json::Value;

pub use self::batch::{Answer, Ask, Holder, Others, serve};
pub use self::pools::Pools;
use crate::claims::edits::claim_of;
use crate::claims::{Record, Share};
use crate::objects::{ObjectError, Objects, Reserved};
use crate::origin;
use crate::releases::{Release, Releases};
use crate::requested;
use crate::sticky;

/// How long ADD and DEL may take.
const ADD: Duration = Duration::from_secs(25);
const DEL: Duration = Duration::from_secs(4);
/// How often an address that another range turns out to hold is passed over.
const OVERLAPS_MAX: usize = 16;
/// How many reservations are remembered; a node has some hundred pods.
const RESERVED_MAX: usize = 16 << 10;

/// The plugin.
pub struct Whereabouts {
    objects: Arc<dyn Objects>,
    pools: Pools,
    releases: Releases,
    flat_files: Vec<PathBuf>,
    limits: Limits,
    /// The reservations this process made, by name: the container, and the state it made. Deleting
    /// that very state needs no reading.
    reserved: Mutex<BTreeMap<String, (String, String)>>,
}

/// How long calls may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// ADD; kubelet gives up somewhat later.
    pub add: Duration,
    /// DEL, which is written down after that.
    pub del: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { add: ADD, del: DEL }
    }
}

/// What a call asks for.
struct Settings {
    ipam: Ipam,
    holder: Holder,
    /// Whether DEL leaves the record.
    is_kept: bool,
    wanted: Vec<IpNet>,
    /// The pod's identity; empty when the address is to outlive it.
    uid: String,
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

impl Whereabouts {
    /// Releases that cannot be made are written down there.
    pub fn new(objects: Arc<dyn Objects>, releases: Releases) -> Self {
        let flat_files = [
            "/etc/kubernetes/cni/net.d/whereabouts.d/whereabouts.conf",
            "/etc/cni/net.d/whereabouts.d/whereabouts.conf",
            "/host/etc/cni/net.d/whereabouts.d/whereabouts.conf",
        ];
        let pools = Pools::new(Arc::clone(&objects));
        let flat_files = flat_files.map(PathBuf::from).to_vec();
        let (limits, reserved) = (Limits::default(), Mutex::default());
        Self { objects, pools, releases, flat_files, limits, reserved }
    }

    /// Looks for the flat configuration file elsewhere.
    #[must_use]
    pub fn with_flat_files(mut self, files: Vec<PathBuf>) -> Self {
        self.flat_files = files;
        self
    }

    /// Lets calls take another time.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Gives one address out of each range.
    pub fn add(&self, input: &Input, environment: &Environment) -> Result<CniResult, CniError> {
        let end = Instant::now() + self.limits.add;
        let settings = self.settings(input, environment, true)?;
        let wanted = requested::by_range(&settings.wanted, &settings.ipam.ranges)
            .map_err(|error| error.report(""))?;
        let mut given = Vec::new();
        for (range, wanted) in settings.ipam.ranges.iter().zip(wanted) {
            let share = self.share(&settings, input, range);
            match share.and_then(|share| self.take(&settings, range, wanted, share.as_ref(), end)) {
                Ok(address) => given.push(address),
                Err(error) => {
                    // All or nothing: what the ranges before gave goes back.
                    if !settings.is_kept {
                        self.release_or_queue(&settings);
                    }
                    return Err(error);
                }
            }
        }
        Ok(settings.ipam.result(&given))
    }

    /// Frees what the container's interface holds. The cluster being away is no error: the release
    /// is written down then.
    pub fn del(&self, input: &Input, environment: &Environment) -> Result<(), CniError> {
        let settings = self.settings(input, environment, false)?;
        if !settings.is_kept {
            self.release_or_queue(&settings);
        }
        Ok(())
    }

    /// Whether what ADD answered is still recorded.
    pub fn check(&self, input: &Input, environment: &Environment) -> Result<(), CniError> {
        let settings = self.settings(input, environment, true)?;
        let ips = input.previous.as_ref().map(|previous| previous.ips.as_slice());
        for range in &settings.ipam.ranges {
            let pool = pool_name(&settings.ipam.network_name, range.range);
            let found = self.pools.find(&pool, &settings.holder)?;
            let told =
                |address| ips.is_none_or(|ips| ips.iter().any(|ip| ip.address.addr() == address));
            match found {
                Some(address) if told(address) => {}
                Some(address) => {
                    let text = format!(
                        "IPPool {pool} records {address} for {} {}, the interface was given another",
                        settings.holder.podref, settings.holder.ifname
                    );
                    return Err(CniError::new(Code::INTERNAL, text));
                }
                None => {
                    let text = format!(
                        "IPPool {pool} has no record of {} {} (container {})",
                        settings.holder.podref,
                        settings.holder.ifname,
                        settings.holder.container_id
                    );
                    return Err(CniError::new(Code::INTERNAL, text));
                }
            }
        }
        Ok(())
    }

    /// Whether addresses could be given now.
    pub fn status(&self, input: &Input, environment: &Environment) -> Result<(), CniError> {
        let section = self.section(input)?;
        let ipam = read(input, section, environment)?;
        for range in &ipam.ranges {
            let pool = pool_name(&ipam.network_name, range.range);
            self.objects
                .pool(&pool)
                .map_err(|error| CniError::new(Code::NOT_AVAILABLE, error.to_string()))?;
        }
        Ok(())
    }

    /// Makes a release that was written down.
    pub fn release(
        &self,
        pools: &[String],
        network_name: &str,
        overlapping: bool,
        holder: &Holder,
        end: Instant,
    ) -> Result<(), CniError> {
        // Every range is tried, whatever happens with the others.
        let mut failure = None;
        for pool in pools {
            if let Err(error) = self.release_one(pool, network_name, overlapping, holder, end) {
                failure.get_or_insert(error);
            }
        }
        failure.map_or(Ok(()), Err)
    }

    fn release_or_queue(&self, settings: &Settings) {
        let ipam = &settings.ipam;
        let pools: Vec<String> =
            ipam.ranges.iter().map(|range| pool_name(&ipam.network_name, range.range)).collect();
        let release = Release::Whereabouts {
            pools: pools.clone(),
            network_name: ipam.network_name.clone(),
            overlapping: ipam.enable_overlapping_ranges,
            holder: settings.holder.clone(),
        };
        self.releases.make_or_put(&release, || {
            let end = Instant::now() + self.limits.del;
            let (name, overlapping) = (&ipam.network_name, ipam.enable_overlapping_ranges);
            self.release(&pools, name, overlapping, &settings.holder, end)
        });
    }

    fn release_one(
        &self,
        pool: &str,
        network_name: &str,
        overlapping: bool,
        holder: &Holder,
        end: Instant,
    ) -> Result<(), CniError> {
        let Some(address) = self.pools.find(pool, holder)? else { return Ok(()) };
        if overlapping {
            let name = reservation_name(network_name, address);
            self.unreserve(&name, holder).map_err(|error| at_reservation(&name, &error))?;
        }
        self.pools.ask(pool, None, Ask::Release(holder.clone()), end).map(|_| ())
    }

    /// What an address of the range has to be claimed as; `None` where no NetConfig has such.
    fn share(
        &self,
        settings: &Settings,
        input: &Input,
        range: &RangeSettings,
    ) -> Result<Option<Arc<Share>>, CniError> {
        let origin = origin::of(input);
        let wrong = |why: String| {
            let text = format!("error at storage engine: the ledger of IPSets: {why}");
            CniError::new(Code::TRY_AGAIN, text)
        };
        let net = range.range.trunc();
        let bounds = Range::new(net.network(), net.broadcast());
        let bounds = bounds.ok_or_else(|| wrong(format!("{net} is no range")))?;
        let sites = self.pools.claims().sites(&origin.definition, bounds);
        let sites = sites.map_err(|error| wrong(error.to_string()))?;
        if sites.is_empty() {
            return Ok(None);
        }
        let Holder { container_id, podref, ifname } = &settings.holder;
        let record = Record { id: container_id, podref, ifname };
        let claim = claim_of(&record, &settings.uid, &origin.source);
        Ok(Some(Arc::new(Share { sites, claim })))
    }

    fn take(
        &self,
        settings: &Settings,
        range: &RangeSettings,
        wanted: Option<IpAddr>,
        share: Option<&Arc<Share>>,
        end: Instant,
    ) -> Result<IpNet, CniError> {
        let (ipam, holder) = (&settings.ipam, &settings.holder);
        let usable = Usable::of(range).map_err(|error| error.report(""))?;
        let pool = pool_name(&ipam.network_name, range.range);
        let text = range.range.trunc().to_string();
        let mut reserved = BTreeMap::new();
        for _ in 0..OVERLAPS_MAX {
            let ask = Ask::Take {
                holder: holder.clone(),
                usable: usable.clone(),
                wanted,
                reserved: reserved.clone(),
                share: share.map(Arc::clone),
            };
            let address = match self.pools.ask(&pool, Some(&text), ask, end)? {
                Answer::Given(address) => address,
                Answer::Failed(error) => return Err(error),
                Answer::Freed(_) => continue,
            };
            if !ipam.enable_overlapping_ranges {
                return Ok(address);
            }
            let name = reservation_name(&ipam.network_name, address.addr());
            match self.reserve(&name, holder, end).map_err(|e| at_reservation(&name, &e))? {
                None => return Ok(address),
                // Reservations are not read beforehand: nearly always there is nothing in the way,
                // and making one tells. Once something is, all of them are read.
                Some(other) => {
                    reserved = self.reserved_by_others(&ipam.network_name, holder)?;
                    reserved.insert(address.addr(), other);
                }
            }
        }
        let text = format!(
            "error at storage engine: reservations of overlapping ranges change faster than an \
             address of {} can be found",
            range.range
        );
        Err(CniError::new(Code::TRY_AGAIN, text))
    }

    /// Reserves an address. `Some`: another holds it.
    fn reserve(
        &self,
        name: &str,
        holder: &Holder,
        end: Instant,
    ) -> Result<Option<String>, ObjectError> {
        let spec = Reservation {
            containerid: holder.container_id.clone(),
            podref: holder.podref.clone(),
            ifname: holder.ifname.clone(),
        };
        loop {
            let outcome = match self.objects.create_reservation(name, &spec) {
                Ok(version) => {
                    self.remember(name, &holder.container_id, version);
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

    fn remember(&self, name: &str, container: &str, version: String) {
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        if reserved.len() >= RESERVED_MAX {
            reserved.clear();
        }
        reserved.insert(name.to_owned(), (container.to_owned(), version));
    }

    /// Deletes the reservation if it is this container's.
    fn unreserve(&self, name: &str, holder: &Holder) -> Result<(), ObjectError> {
        let made = self.reserved.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        if let Some((container, version)) = made
            && container == holder.container_id
        {
            match self.objects.delete_reservation(name, &version) {
                Err(ObjectError::Conflict(_)) => {}
                other => return other,
            }
        }
        for _ in 0..OVERLAPS_MAX {
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

    fn reserved_by_others(
        &self,
        network_name: &str,
        holder: &Holder,
    ) -> Result<BTreeMap<IpAddr, String>, CniError> {
        let found = self.objects.reservations().map_err(|e| at_reservation("of all", &e))?;
        let others = found.iter().filter_map(|(name, reserved)| {
            let address = reservation_address(network_name, name)?;
            Some((address, other_holder(&reserved.spec, &holder.podref, &holder.ifname)?))
        });
        Ok(others.collect())
    }

    fn settings(
        &self,
        input: &Input,
        environment: &Environment,
        needs_pod: bool,
    ) -> Result<Settings, CniError> {
        let section = self.section(input)?;
        let sticky = sticky::of_section(&section);
        let ipam = read(input, section, environment)?;
        if ipam.node_slice.is_some() {
            return Err(CniError {
                details: "remove node_slice_size from the NetworkAttachmentDefinition: pools are \
                          shared by all nodes without a lock here, so slices are not needed"
                    .to_owned(),
                ..CniError::new(Code::UNSUPPORTED_FIELD, "node_slice_size is not supported")
            });
        }
        let pod = landbridge_cni::whereabouts::podref(&environment.args);
        let pod = match pod {
            Ok(podref) => podref,
            Err(error) if needs_pod => return Err(error.report("")),
            Err(_) => String::new(),
        };
        let holder = Holder {
            container_id: environment.container_id.clone(),
            podref: sticky.as_ref().map_or(pod, |sticky| sticky.podref.clone()),
            ifname: environment.interface.clone(),
        };
        let wanted = requested::of_call(input, environment).map_err(|error| error.report(""));
        // A wish that cannot be read must not keep an address from release.
        let wanted = if needs_pod { wanted? } else { Vec::new() };
        let uid = environment.args.pod().filter(|_| sticky.is_none()).map(|pod| pod.uid);
        let uid = uid.unwrap_or_default();
        Ok(Settings { ipam, holder, is_kept: sticky.is_some(), wanted, uid })
    }

    /// The section, with what the flat file adds. Having no such file is fine here.
    fn section(&self, input: &Input) -> Result<Object, CniError> {
        let mut section = input.ipam().map_err(|error| error.report(""))?;
        let path = section.get("configuration_path").and_then(Value::as_str).map(PathBuf::from);
        for file in path.iter().chain(&self.flat_files) {
            let Ok(text) = std::fs::read(file) else { continue };
            let flat: Object = serde_json::from_slice(&text).map_err(|error| {
                let text = format!("{} cannot be read: {error}", file.display());
                CniError::new(Code::DECODING_FAILURE, text)
            })?;
            merge_flat_file(&mut section, &flat);
            break;
        }
        Ok(section)
    }
}

fn read(input: &Input, section: Object, environment: &Environment) -> Result<Ipam, CniError> {
    let mut input = input.clone();
    input.keys.insert("ipam".to_owned(), Value::Object(section));
    // The addresses a pod asks for are looked after here, not given besides.
    let args = environment.args.without("IP");
    Ipam::read(&input, &args).map_err(|error| error.report(""))
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

fn at_reservation(name: &str, error: &ObjectError) -> CniError {
    let text = format!("error at storage engine: OverlappingRangeIPReservation {name}: {error}");
    CniError::new(Code::TRY_AGAIN, text)
}
