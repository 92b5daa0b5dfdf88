//! The address plugin `whereabouts`, in its own records and without its lock.
//!
//! ADD: a record in the pool (with all others that wait, see [`pools`]) and, at the same time, the
//! reservation that overlapping ranges look at ([`reservations`]). DEL: the reservation first, then the
//! record. Where a call breaks off in between, a record or a reservation of nobody is left, which the next
//! call of the same interface takes over and [`crate::reconcile`] collects. What IPSets may have, too, is
//! claimed before it is recorded ([`crate::claims`]).
//!
//! The seam to whoever runs plugins is one shape: the configuration a plugin reads on standard
//! input ([`Input`]) and its environment ([`Environment`]).

mod batch;
mod pools;
mod reservations;
mod underway;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ipnet::IpNet;
use landbridge_addr::net::Range;
use landbridge_cni::config::Input;
use landbridge_cni::environment::Environment;
use landbridge_cni::error::{CniError, Code, Coded};
use landbridge_cni::json::Object;
use landbridge_cni::result::CniResult;
use landbridge_cni::whereabouts::{
    Ipam, RangeSettings, Usable, merge_flat_file, pool_name, reservation_name,
};
use serde_json::Value;

pub use self::batch::{Answer, Ask, Holder, Others, serve};
pub use self::pools::Pools;
use self::reservations::Reservations;
use crate::claims::edits::claim_of;
use crate::claims::{Record, Share};
use crate::objects::{ObjectError, Objects};
use crate::origin;
use crate::releases::{Release, Releases};
use crate::requested;
use crate::sticky;

/// How long ADD and DEL may take.
const ADD: Duration = Duration::from_secs(25);
const DEL: Duration = Duration::from_secs(4);
/// How often an address that another range turns out to hold is passed over.
const OVERLAPS_MAX: usize = 16;

/// The plugin.
pub struct Whereabouts {
    objects: Arc<dyn Objects>,
    pools: Pools,
    releases: Releases,
    flat_files: Vec<PathBuf>,
    limits: Limits,
    reservations: Reservations,
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
        let reservations = Reservations::new(Arc::clone(&objects));
        Self { objects, pools, releases, flat_files, limits: Limits::default(), reservations }
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
            self.reservations
                .give_back(&name, holder)
                .map_err(|error| at_reservation(&name, &error))?;
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
        let reserve_for = ipam.enable_overlapping_ranges.then_some(&ipam.network_name);
        let mut reserved = BTreeMap::new();
        for _ in 0..OVERLAPS_MAX {
            let ask = Ask::Take {
                holder: holder.clone(),
                usable: usable.clone(),
                wanted,
                reserve_for: reserve_for.cloned(),
                reserved: reserved.clone(),
                share: share.map(Arc::clone),
            };
            let served = self.pools.ask(&pool, Some(&text), ask, end)?;
            let address = match served.answer {
                Answer::Given(address) => address,
                Answer::Failed(error) => return Err(error),
                Answer::Freed(_) => continue,
            };
            let Some(network_name) = reserve_for else { return Ok(address) };
            let name = reservation_name(network_name, address.addr());
            if let Some(version) = served.reservation {
                self.reservations.remember(&name, holder, version);
                return Ok(address);
            }
            let taken = self.reservations.take(&name, holder, end);
            match taken.map_err(|error| at_reservation(&name, &error))? {
                None => return Ok(address),
                // Reservations are not read beforehand: nearly always there is nothing in the way,
                // and making one tells. Once something is, all of them are read.
                Some(other) => {
                    let others = self.reservations.of_others(network_name, holder);
                    reserved = others.map_err(|error| at_reservation("of all", &error))?;
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

fn at_reservation(name: &str, error: &ObjectError) -> CniError {
    let text = format!("error at storage engine: OverlappingRangeIPReservation {name}: {error}");
    CniError::new(Code::TRY_AGAIN, text)
}
