//! The address plugin `landbridge`: a pod's address comes from a network of the NetConfig, so that
//! nodes, pods and VIPs share one address management.
//!
//! ```json
//! "ipam": {"type": "landbridge", "network": "internalapi", "subnet": "subnet1"}
//! "ipam": {"type": "landbridge", "network": "internalapi", "subnets": ["v4", "v6"], "defaultRoute": true}
//! ```
//!
//! ADD makes an IPSet for each subnet, named after pod and interface and owned by the pod (or, when
//! the address is to stay, by the pod's set), waits until the address controller has answered it,
//! and answers with what it says. DEL deletes it. The container is noted on it, so that a late DEL
//! of an old container does not take the address of a new one.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ipnet::IpNet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use landbridge_api::condition::{READY, is_ready};
use landbridge_api::network::{IPSet, IPSetNetwork, IPSetReservation, IPSetSpec};
use landbridge_cni::config::Input;
use landbridge_cni::environment::Environment;
use landbridge_cni::error::{CniError, Code, Coded};
use landbridge_cni::json::Object;
use landbridge_cni::result::{CniResult, Dns, Ip, Route};
use serde::Deserialize;
use serde_json::Value;

use crate::objects::{ObjectError, Objects, Owner};
use crate::releases::{Release, Releases, hash};
use crate::requested;
use crate::sticky::{self, StickyHolder};

/// How long ADD waits for addresses.
const ADD: Duration = Duration::from_secs(25);
const DEL: Duration = Duration::from_secs(4);
const PAUSE: Duration = Duration::from_millis(100);
/// The longest name of an object.
const NAME_MAX: usize = 253;

/// The label of IPSets that are made here; its value is empty.
pub const LABEL: &str = "landbridge.dev/attachment";
/// `namespace/name` of the pod, or of what stands for it.
pub const POD: &str = "landbridge.dev/pod";
/// The pod's interface.
pub const INTERFACE: &str = "landbridge.dev/interface";
/// The container that holds it now.
pub const CONTAINER: &str = "landbridge.dev/container";
/// Present when the address stays without the pod.
pub const KEPT: &str = "landbridge.dev/sticky";

/// The plugin.
pub struct IPSets {
    objects: Arc<dyn Objects>,
    releases: Releases,
    wait: Duration,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Section {
    #[serde(default)]
    network: String,
    #[serde(default)]
    subnet: String,
    #[serde(default)]
    subnets: Vec<String>,
    /// Where the NetConfig is; the pod's namespace when it is not said.
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    default_route: bool,
    #[serde(default)]
    routes: Vec<Route>,
    #[serde(default)]
    dns: Dns,
}

struct Settings {
    section: Section,
    namespace: String,
    podref: String,
    /// In the same namespace as the IPSets, or nobody.
    owner: Option<Owner>,
    is_kept: bool,
    container_id: String,
    ifname: String,
    wanted: Vec<IpNet>,
}

impl IPSets {
    /// Releases that cannot be made are written down there.
    pub fn new(objects: Arc<dyn Objects>, releases: Releases) -> Self {
        Self { objects, releases, wait: ADD }
    }

    /// Waits for addresses no longer than this.
    #[must_use]
    pub fn with_wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Gives one address of each subnet.
    pub fn add(&self, input: &Input, environment: &Environment) -> Result<CniResult, CniError> {
        let end = Instant::now() + self.wait;
        let settings = settings(input, environment, true)?;
        let given = self.addresses(&settings, end);
        if given.is_err() && !settings.is_kept {
            self.release_or_queue(&settings);
        }
        given
    }

    /// Gives them back, unless they are to stay. The cluster being away is no error.
    pub fn del(&self, input: &Input, environment: &Environment) -> Result<(), CniError> {
        let settings = settings(input, environment, false)?;
        if !settings.is_kept {
            self.release_or_queue(&settings);
        }
        Ok(())
    }

    /// Whether what ADD answered is still given.
    pub fn check(&self, input: &Input, environment: &Environment) -> Result<(), CniError> {
        let settings = settings(input, environment, true)?;
        for name in settings.names() {
            let found = self.objects.ipset(&settings.namespace, &name);
            let found = found.map_err(|error| cannot(&settings.namespace, &name, &error))?;
            let address = found.as_ref().and_then(|ipset| reservation(ipset)?.address.parse().ok());
            let told = |address: IpAddr| {
                let previous = input.previous.as_ref();
                previous.is_none_or(|p| p.ips.iter().any(|ip| ip.address.addr() == address))
            };
            if !address.is_some_and(told) {
                let text = format!(
                    "IPSet {}/{name} does not hold the address of {} {}",
                    settings.namespace, settings.podref, settings.ifname
                );
                return Err(CniError::new(Code::INTERNAL, text));
            }
        }
        Ok(())
    }

    /// Makes a release that was written down: deletes the IPSets if they are that container's.
    pub fn release(
        &self,
        namespace: &str,
        names: &[String],
        container_id: &str,
        end: Instant,
    ) -> Result<(), CniError> {
        let mut failure = None;
        for name in names {
            if let Err(error) = self.release_one(namespace, name, container_id, end) {
                failure.get_or_insert(cannot(namespace, name, &error));
            }
        }
        failure.map_or(Ok(()), Err)
    }

    fn release_one(
        &self,
        namespace: &str,
        name: &str,
        container_id: &str,
        end: Instant,
    ) -> Result<(), ObjectError> {
        loop {
            let Some(found) = self.objects.ipset(namespace, name)? else { return Ok(()) };
            let note = |key: &str| found.annotations().get(key).map(String::as_str);
            let ours = found.labels().contains_key(LABEL) && note(CONTAINER) == Some(container_id);
            if !ours || note(KEPT).is_some() || found.metadata.deletion_timestamp.is_some() {
                return Ok(());
            }
            match self.objects.delete_ipset(&found) {
                Err(ObjectError::Conflict(_)) if Instant::now() < end => {}
                other => return other,
            }
        }
    }

    fn release_or_queue(&self, settings: &Settings) {
        let names = settings.names();
        let (namespace, container_id) = (&settings.namespace, &settings.container_id);
        let release = Release::IPSets {
            namespace: namespace.clone(),
            names: names.clone(),
            container_id: container_id.clone(),
        };
        self.releases.make_or_put(&release, || {
            self.release(namespace, &names, container_id, Instant::now() + DEL)
        });
    }

    fn addresses(&self, settings: &Settings, end: Instant) -> Result<CniResult, CniError> {
        let subnets = settings.section.subnets();
        let fixed = self.fixed(settings, &subnets)?;
        let mut asked = Vec::new();
        // All of them first, so that they are answered at the same time.
        for ((subnet, name), fixed) in subnets.iter().zip(settings.names()).zip(fixed) {
            self.ensure(settings, &name, subnet, fixed, end)?;
            asked.push((name, fixed));
        }
        let mut result = CniResult {
            routes: settings.section.routes.clone(),
            dns: settings.section.dns.clone(),
            ..CniResult::default()
        };
        for (name, fixed) in asked {
            let found = self.wait(&settings.namespace, &name, fixed, end)?;
            answer(&found, settings.section.default_route, &mut result)?;
        }
        Ok(result)
    }

    /// Which address is wanted of each subnet. With one subnet there is nothing to find out.
    fn fixed(
        &self,
        settings: &Settings,
        subnets: &[String],
    ) -> Result<Vec<Option<IpAddr>>, CniError> {
        let mut slots: Vec<Option<IpAddr>> = vec![None; subnets.len()];
        let bad = |text: String| CniError::new(Code::INVALID_CONFIG, text);
        if settings.wanted.is_empty() {
            return Ok(slots);
        }
        let network = &settings.section.network;
        let prefixes = if subnets.len() > 1 {
            let found = self.objects.subnet_prefixes(&settings.namespace, network);
            found.map_err(|error| bad(format!("reading the NetConfig: {error}")))?
        } else {
            BTreeMap::new()
        };
        for wanted in &settings.wanted {
            let address = wanted.addr();
            let fits = |subnet: &String| {
                let prefix = prefixes.get(&subnet.to_ascii_lowercase());
                subnets.len() == 1 || prefix.is_some_and(|prefix| prefix.contains(&address))
            };
            let mut free = subnets.iter().zip(slots.iter_mut());
            let slot = free.find(|(subnet, slot)| fits(subnet) && slot.is_none());
            let Some((_, slot)) = slot else {
                return Err(bad(format!(
                    "the requested address {address} finds no subnet of network {network}: each \
                     of {} gives one address",
                    subnets.join(", ")
                )));
            };
            *slot = Some(address);
        }
        Ok(slots)
    }

    /// Has the IPSet there, for this container.
    fn ensure(
        &self,
        settings: &Settings,
        name: &str,
        subnet: &str,
        fixed: Option<IpAddr>,
        end: Instant,
    ) -> Result<(), CniError> {
        let failed = |error: &ObjectError| cannot(&settings.namespace, name, error);
        loop {
            let found = self.objects.ipset(&settings.namespace, name);
            let found = found.map_err(|error| failed(&error))?;
            let outcome = match found {
                None => {
                    let wanted = settings.ipset(name, subnet, fixed);
                    self.objects.create_ipset(&wanted).map(|_| true)
                }
                // The one before is on its way out; a new one comes after it.
                Some(found) if found.metadata.deletion_timestamp.is_some() => Ok(false),
                Some(found) => {
                    settings.check_ours(&found)?;
                    let wanted = settings.ipset(name, subnet, fixed);
                    let mut ours = found.clone();
                    ours.spec = wanted.spec;
                    ours.annotations_mut().extend(wanted.metadata.annotations.unwrap_or_default());
                    if !settings.is_kept {
                        ours.annotations_mut().remove(KEPT);
                    }
                    ours.metadata.owner_references = wanted.metadata.owner_references;
                    if ours == found {
                        Ok(true)
                    } else {
                        self.objects.replace_ipset(&ours).map(|_| true)
                    }
                }
            };
            match outcome {
                Ok(true) => return Ok(()),
                Err(error @ ObjectError::Refused(_)) => return Err(failed(&error)),
                Err(error) if Instant::now() >= end => return Err(failed(&error)),
                Ok(false) if Instant::now() >= end => {
                    let text = format!(
                        "IPSet {}/{name} of the pod before is still being deleted",
                        settings.namespace
                    );
                    return Err(CniError::new(Code::TRY_AGAIN, text));
                }
                _ => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Waits until the IPSet is answered.
    fn wait(
        &self,
        namespace: &str,
        name: &str,
        fixed: Option<IpAddr>,
        end: Instant,
    ) -> Result<IPSetReservation, CniError> {
        loop {
            let found = self.objects.ipset(namespace, name);
            if let Ok(Some(ipset)) = &found
                && let Some(reservation) = reservation(ipset)
                && fixed.is_none_or(|fixed| reservation.address.parse() == Ok(fixed))
            {
                return Ok(reservation.clone());
            }
            if Instant::now() >= end {
                return Err(not_ready(namespace, name, found));
            }
            std::thread::sleep(PAUSE.min(end.saturating_duration_since(Instant::now())));
        }
    }
}

impl Section {
    fn subnets(&self) -> Vec<String> {
        if self.subnets.is_empty() { vec![self.subnet.clone()] } else { self.subnets.clone() }
    }
}

impl Settings {
    /// What the IPSets are called, one for each subnet.
    fn names(&self) -> Vec<String> {
        let pod = self.podref.split_once('/').map_or(self.podref.as_str(), |(_, name)| name);
        (0..self.section.subnets().len()).map(|place| name(pod, &self.ifname, place)).collect()
    }

    fn ipset(&self, name: &str, subnet: &str, fixed: Option<IpAddr>) -> IPSet {
        let mut ipset = IPSet::new(
            name,
            IPSetSpec {
                immutable: false,
                networks: vec![IPSetNetwork {
                    name: self.section.network.clone(),
                    subnet_name: subnet.to_owned(),
                    fixed_ip: fixed.map(|address| address.to_string()),
                    default_route: self.section.default_route.then_some(true),
                }],
            },
        );
        ipset.metadata.namespace = Some(self.namespace.clone());
        ipset.metadata.labels = Some(BTreeMap::from([(LABEL.to_owned(), String::new())]));
        let mut notes = BTreeMap::from([
            (POD.to_owned(), self.podref.clone()),
            (INTERFACE.to_owned(), self.ifname.clone()),
            (CONTAINER.to_owned(), self.container_id.clone()),
        ]);
        if self.is_kept {
            let owner = self.owner.as_ref().map(|o| format!("{}/{}", o.kind, o.name));
            notes.insert(KEPT.to_owned(), owner.unwrap_or_else(|| "true".to_owned()));
        }
        ipset.metadata.annotations = Some(notes);
        ipset.metadata.owner_references = self.owner.as_ref().map(|owner| {
            vec![OwnerReference {
                api_version: owner.api_version.clone(),
                kind: owner.kind.clone(),
                name: owner.name.clone(),
                uid: owner.uid.clone(),
                ..OwnerReference::default()
            }]
        });
        ipset
    }

    /// Refuses an IPSet of that name that somebody else made.
    fn check_ours(&self, found: &IPSet) -> Result<(), CniError> {
        let note = |key: &str| found.annotations().get(key).map(String::as_str);
        let ours = found.labels().contains_key(LABEL)
            && note(POD) == Some(self.podref.as_str())
            && note(INTERFACE) == Some(self.ifname.as_str());
        if ours {
            return Ok(());
        }
        let text = format!(
            "IPSet {}/{} is there already and is not the one of {} {}: rename or delete it",
            self.namespace,
            found.name_any(),
            self.podref,
            self.ifname
        );
        Err(CniError::new(Code::INVALID_CONFIG, text))
    }
}

/// What an IPSet is called. A pod's name may have dots and an interface's none (it would be written
/// otherwise), so no two interfaces have one name.
fn name(pod: &str, ifname: &str, place: usize) -> String {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let ends = ifname.starts_with('-') || ifname.ends_with('-');
    let interface = if ifname.bytes().all(is_plain) && !ends {
        ifname.to_owned()
    } else {
        format!("x{:016x}", hash(ifname.as_bytes()))
    };
    let suffix = if place == 0 { String::new() } else { format!(".{}", place + 1) };
    let whole = format!("{pod}.{interface}{suffix}");
    if whole.len() <= NAME_MAX {
        return whole;
    }
    // Names of pods are ASCII.
    let room = NAME_MAX - 17;
    let cut: String = whole.chars().take(room).collect();
    format!("{}-{:016x}", cut.trim_end_matches(['-', '.']), hash(whole.as_bytes()))
}

/// The address of an IPSet that is answered in full.
fn reservation(ipset: &IPSet) -> Option<&IPSetReservation> {
    let status = ipset.status.as_ref().filter(|status| is_ready(&status.conditions))?;
    let is_current = match (status.observed_generation, ipset.metadata.generation) {
        (Some(seen), Some(now)) => seen >= now,
        _ => true,
    };
    status.reservations.first().filter(|_| is_current)
}

fn answer(
    found: &IPSetReservation,
    default_route: bool,
    result: &mut CniResult,
) -> Result<(), CniError> {
    let unreadable = |what: &str, text: &str| {
        let text = format!("the IPSet's {what} {text:?} on {} cannot be read", found.network);
        CniError::new(Code::INTERNAL, text)
    };
    let address: IpAddr =
        found.address.parse().map_err(|_| unreadable("address", &found.address))?;
    let cidr = found.cidr.as_deref().unwrap_or_default();
    let prefix: IpNet = cidr.parse().map_err(|_| unreadable("cidr", cidr))?;
    let net = IpNet::new(address, prefix.prefix_len()).map_err(|_| unreadable("cidr", cidr))?;
    let gateway = match found.gateway.as_deref() {
        None | Some("") => None,
        Some(text) => Some(text.parse().map_err(|_| unreadable("gateway", text))?),
    };
    result.ips.push(Ip { address: net, gateway, interface: None });
    for route in &found.routes {
        let to = route.destination.parse().map_err(|_| unreadable("route", &route.destination))?;
        let via = route.nexthop.parse().map_err(|_| unreadable("next hop", &route.nexthop))?;
        result.routes.push(Route::new(to, Some(via)));
    }
    if default_route && gateway.is_some() {
        let everywhere = landbridge_linux::route::Family::of(&net).everywhere();
        result.routes.push(Route::new(everywhere, gateway));
    }
    Ok(())
}

fn not_ready(namespace: &str, name: &str, found: Result<Option<IPSet>, ObjectError>) -> CniError {
    let why = match found {
        Err(error) => error.to_string(),
        Ok(None) => "it is gone".to_owned(),
        Ok(Some(ipset)) => {
            let conditions = ipset.status.unwrap_or_default().conditions;
            let ready = conditions.into_iter().find(|condition| condition.type_ == READY);
            ready.map(|condition| condition.message).filter(|text| !text.is_empty()).unwrap_or_else(
                || "nobody has answered it: does the address controller run?".to_owned(),
            )
        }
    };
    let text = format!("IPSet {namespace}/{name} is not Ready: {why}");
    CniError::new(Code::TRY_AGAIN, text)
}

fn cannot(namespace: &str, name: &str, error: &ObjectError) -> CniError {
    let code = match error {
        ObjectError::Refused(_) => Code::INVALID_CONFIG,
        _ => Code::TRY_AGAIN,
    };
    CniError::new(code, format!("IPSet {namespace}/{name}: {error}"))
}

fn settings(input: &Input, environment: &Environment, is_add: bool) -> Result<Settings, CniError> {
    let keys: Object = input.ipam().map_err(|error| error.report(""))?;
    let sticky: Option<StickyHolder> = sticky::of_section(&keys);
    let section: Section = serde_json::from_value(Value::Object(keys)).map_err(|error| {
        let text = format!("the IPAM section cannot be read: {error}");
        CniError::new(Code::DECODING_FAILURE, text)
    })?;
    let bad = |text: &str| CniError::new(Code::INVALID_CONFIG, text);
    if section.network.is_empty() || section.subnets().iter().any(String::is_empty) {
        return Err(bad(
            "the IPAM section needs \"network\" and \"subnet\" (or \"subnets\") of the NetConfig",
        ));
    }
    let pod = environment.args.pod();
    let pod = pod.ok_or_else(|| bad("the IPAM landbridge needs K8S_POD_NAME in CNI_ARGS"))?;
    let namespace = match section.namespace.as_str() {
        "" => pod.namespace.clone(),
        other => other.to_owned(),
    };
    let own = Owner {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        name: pod.name.clone(),
        uid: pod.uid.clone(),
    };
    let owner = sticky.as_ref().map_or(own, |sticky| sticky.owner.clone());
    // An owner of another namespace counts as gone, and one without identity is none.
    let owner = (namespace == pod.namespace && !owner.uid.is_empty()).then_some(owner);
    let wanted = requested::of_call(input, environment).map_err(|error| error.report(""));
    Ok(Settings {
        section,
        namespace,
        podref: sticky.as_ref().map_or_else(|| pod.reference(), |s| s.podref.clone()),
        owner,
        is_kept: sticky.is_some(),
        container_id: environment.container_id.clone(),
        ifname: environment.interface.clone(),
        wanted: if is_add { wanted? } else { Vec::new() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_pod_and_interface_and_do_not_meet() {
        assert_eq!(name("ovn-0", "net1", 0), "ovn-0.net1");
        assert_eq!(name("ovn-0", "net1", 1), "ovn-0.net1.2");
        assert_ne!(name("a", "b.net1", 0), name("a.b", "net1", 0));
        assert_ne!(name("a", "B", 0), name("a", "b", 0));
        let long = "p".repeat(253);
        let names = [name(&long, "net1", 0), name(&long, "net2", 0)];
        assert!(names[0].len() <= 253 && names[0] != names[1]);
    }
}
