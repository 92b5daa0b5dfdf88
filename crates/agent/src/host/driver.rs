//! Watches the IPSet of this host, makes it true, and keeps a record of what was made.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::Api;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, ResourceExt as _};
use landbridge_api::condition::is_ready;
use landbridge_api::network::{DNSMasq, GROUP, IPSet, VERSION};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::task::spawn_blocking;

use super::HostSettings;
use super::compose::{Made, choose_trunk, compose};
use super::servers::Servers;
use super::wanted::{Wanted, wanted};
use crate::policy::NodeNetwork;
use crate::policy::events::{Events, Said};
use crate::policy::probes::{beforehand, here::Here};
use crate::policy::record::{boot, load, save};

/// After a failure, and twice as long after each further one.
const PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// An IPSet that is gone may be about to come back, as when a backup is restored.
const FAREWELL: Duration = Duration::from_secs(10);

/// What a host's configuration needs.
#[derive(Clone)]
pub struct HostDuty {
    pub client: Client,
    pub network: Arc<dyn NodeNetwork>,
    pub settings: HostSettings,
}

/// What this agent has made, on disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    /// When it was made: what is made by netlink does not outlive a boot.
    boot: String,
    made: Made,
    /// What was applied, to be applied again after a boot.
    desired: Value,
}

/// What is known of the IPSet.
enum Known {
    /// Nothing yet.
    Nothing,
    Gone,
    There(Box<IPSet>),
}

/// Configures this host until `stop` is done.
pub async fn run(duty: HostDuty, stop: impl Future<Output = ()>) {
    let HostSettings { name, namespace, .. } = &duty.settings;
    let ipsets: Api<IPSet> = Api::namespaced(duty.client.clone(), namespace);
    let only_ours = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut news = watcher(ipsets, only_ours).default_backoff().boxed();
    let dnsmasqs: Api<DNSMasq> = Api::namespaced(duty.client.clone(), namespace);
    let mut servers = watcher(dnsmasqs, watcher::Config::default()).default_backoff().boxed();
    // What a person says counts.
    let follows = duty.settings.nameservers.is_empty();
    let mut known_servers = Servers::default();
    // Before they are known, a resolver that names them would be taken for one that is not wanted.
    let mut may_begin = !follows;
    let mut stop = std::pin::pin!(stop);
    let mut host = Host::open(duty.clone()).await;
    let mut known = Known::Nothing;
    let mut listed = None;
    let mut wait: Option<Duration> = None;
    loop {
        let pause = async {
            match wait {
                None => std::future::pending().await,
                Some(wait) => tokio::time::sleep(wait).await,
            }
        };
        tokio::select! {
            () = &mut stop => return,
            () = pause => {}
            Some(item) = servers.next(), if follows => match item {
                Ok(event) => {
                    let first = matches!(event, Event::InitDone) && !may_begin;
                    may_begin |= first;
                    if !known_servers.hear(&event) && !first {
                        continue;
                    }
                    host.duty.settings.nameservers = known_servers.all();
                    tracing::info!(servers = ?host.duty.settings.nameservers, "name servers");
                }
                Err(error) => {
                    tracing::debug!(%error, "the watch of DNSMasq objects broke; it starts over");
                    // A cluster that does not know the kind has no name servers of it.
                    let refused = matches!(
                        &error,
                        watcher::Error::InitialListFailed(kube::Error::Api(_))
                    );
                    if may_begin || !refused {
                        continue;
                    }
                    may_begin = true;
                }
            },
            Some(item) = news.next() => match item {
                Ok(Event::Init) => {
                    listed = None;
                    continue;
                }
                Ok(Event::InitApply(ipset)) => {
                    listed = Some(ipset);
                    continue;
                }
                Ok(Event::InitDone) => {
                    known = listed.take().map_or(Known::Gone, |ipset| Known::There(Box::new(ipset)));
                }
                Ok(Event::Apply(ipset)) => known = Known::There(Box::new(ipset)),
                Ok(Event::Delete(_)) => known = Known::Gone,
                Err(error) => {
                    tracing::warn!(%error, "the watch broke; it starts over");
                    continue;
                }
            },
        }
        wait = match &known {
            _ if !may_begin => None,
            Known::Nothing => None,
            Known::Gone if wait != Some(FAREWELL) && !host.is_bare() => Some(FAREWELL),
            Known::Gone => host.serve(None).await,
            Known::There(ipset) => host.serve(Some(ipset)).await,
        };
    }
}

struct Host {
    duty: HostDuty,
    path: PathBuf,
    record: Record,
    events: Events,
    failures: u32,
    /// What was said last, about which IPSet.
    said: Option<(String, String)>,
}

impl Host {
    /// Reads the record. After a boot, what is in it is made again at once.
    async fn open(duty: HostDuty) -> Self {
        let path = duty.settings.state_dir.join("host.json");
        let mut record: Record = load(&path).unwrap_or_default();
        let boot = boot();
        if record.boot != boot && !record.desired.is_null() {
            let (network, desired) = (duty.network.clone(), record.desired.clone());
            let again = spawn_blocking(move || network.apply(&desired, &|| Ok(()))).await;
            match again {
                Ok(Ok(())) => record.boot.clone_from(&boot),
                Ok(Err(error)) => tracing::warn!(%error, "not applied after the boot"),
                Err(error) => tracing::error!(%error, "not applied after the boot"),
            }
        }
        let events = Events::new(duty.client.clone(), "landbridge-host", &duty.settings.name);
        let host = Self { duty, path, record, events, failures: 0, said: None };
        host.save(&host.record);
        host
    }

    fn is_bare(&self) -> bool {
        self.record.made.wanted == Wanted::default()
    }

    fn save(&self, record: &Record) {
        if let Err(error) = save(&self.path, record) {
            let path = self.path.display();
            tracing::warn!(%path, %error, "cannot be written: what is made now may stay for ever");
        }
    }

    /// Makes the host as the IPSet says. After how long to try again, if so.
    async fn serve(&mut self, ipset: Option<&IPSet>) -> Option<Duration> {
        if ipset.is_some_and(|ipset| !is_answered(ipset)) {
            return None; // the controller is still at it
        }
        match self.configure(ipset).await {
            Ok(Some(note)) => {
                self.failures = 0;
                tracing::info!(note, "configured");
                if let Some(ipset) = ipset {
                    self.say(ipset, false, "HostConfigured", note).await;
                }
                None
            }
            Ok(None) => {
                self.failures = 0;
                None
            }
            Err(why) => {
                tracing::warn!(why, "not configured; trying again");
                if let Some(ipset) = ipset {
                    self.say(ipset, true, "HostConfigurationFailed", why).await;
                }
                let pause = PAUSE.saturating_mul(1 << self.failures.min(6)).min(LONGEST_PAUSE);
                self.failures += 1;
                Some(pause)
            }
        }
    }

    /// What was done, in words; nothing if there was nothing to do.
    async fn configure(&mut self, ipset: Option<&IPSet>) -> Result<Option<String>, String> {
        let settings = &self.duty.settings;
        let current = self.show().await?;
        let trunk = match settings.trunk.clone().or_else(|| self.record.made.trunk.clone()) {
            Some(trunk) => trunk,
            None => choose_trunk(&current)?,
        };
        let wish = match ipset {
            Some(ipset) => wanted(ipset, settings, &trunk)?,
            None => Wanted::default(),
        };
        let boot = boot();
        let is_so = wish == self.record.made.wanted;
        if is_so && (self.record.boot == boot || self.is_bare()) {
            return Ok(None);
        }
        let mut composed = compose(&wish, &self.record.made, &current)?;
        composed.made.trunk = Some(trunk);
        // Whatever happens, it is known afterwards what may have been made.
        let mut both = composed.made.clone();
        both.own_vlans.extend(self.record.made.own_vlans.iter().cloned());
        both.wanted = together(&self.record.made.wanted, &wish);
        let unsure =
            Record { boot: String::new(), made: both, desired: self.record.desired.clone() };
        self.save(&unsure);
        let done = self.apply(composed.desired.clone()).await;
        if let Err(why) = done {
            self.save(&self.record); // it was taken back
            return Err(why);
        }
        self.record = Record { boot, made: composed.made, desired: composed.desired };
        self.save(&self.record);
        Ok(Some(note(&wish)))
    }

    async fn show(&self) -> Result<Value, String> {
        let network = self.duty.network.clone();
        spawn_blocking(move || network.show()).await.map_err(|error| error.to_string())?
    }

    async fn apply(&self, desired: Value) -> Result<(), String> {
        let network = self.duty.network.clone();
        let here = Here {
            client: self.duty.client.clone(),
            runtime: tokio::runtime::Handle::current(),
            network: network.clone(),
        };
        let probes = self.duty.settings.probes.clone();
        let applied = spawn_blocking(move || {
            let expected = beforehand(&probes, &[], &here);
            network.apply(&desired, &|| expected.check(&here))
        });
        let applied = applied.await.map_err(|error| format!("internal error: {error}"))?;
        applied.map_err(|error| error.to_string())
    }

    async fn say(&mut self, ipset: &IPSet, warning: bool, reason: &'static str, note: String) {
        let uid = ipset.uid().unwrap_or_default();
        if self.said.as_ref() == Some(&(uid.clone(), note.clone())) {
            return; // nothing new
        }
        self.said = Some((uid.clone(), note.clone()));
        let about = ObjectReference {
            api_version: Some(format!("{GROUP}/{VERSION}")),
            kind: Some("IPSet".to_owned()),
            namespace: ipset.namespace(),
            name: Some(ipset.name_any()),
            uid: Some(uid),
            ..ObjectReference::default()
        };
        self.events.say(Said { about, warning, reason, note }).await;
    }
}

/// Whether the status answers the spec as it is now, and can be used.
fn is_answered(ipset: &IPSet) -> bool {
    let Some(status) = &ipset.status else { return false };
    let generation = ipset.metadata.generation;
    let current = status.observed_generation.is_none_or(|seen| Some(seen) >= generation);
    current && is_ready(&status.conditions) && ipset.metadata.deletion_timestamp.is_none()
}

/// Everything that is in one or the other.
fn together(one: &Wanted, other: &Wanted) -> Wanted {
    let mut both = other.clone();
    for (name, nic) in &one.nics {
        let entry = both.nics.entry(name.clone()).or_default();
        let more = nic.addresses.iter().filter(|a| !entry.addresses.contains(a));
        let more: Vec<_> = more.copied().collect();
        entry.addresses.extend(more);
    }
    for (name, vlan) in &one.vlans {
        match both.vlans.get_mut(name) {
            None => drop(both.vlans.insert(name.clone(), vlan.clone())),
            Some(entry) => {
                let more = vlan.addresses.iter().filter(|a| !entry.addresses.contains(a));
                let more: Vec<_> = more.copied().collect();
                entry.addresses.extend(more);
            }
        }
    }
    let more = one.routes.iter().filter(|route| !other.routes.contains(route)).cloned();
    both.routes.extend(more);
    both
}

fn note(wanted: &Wanted) -> String {
    let nics = wanted.nics.iter().map(|(name, nic)| (name, &nic.addresses));
    let vlans = wanted.vlans.iter().map(|(name, vlan)| (name, &vlan.addresses));
    let mut parts = Vec::new();
    for (name, addresses) in nics.chain(vlans) {
        for address in addresses {
            parts.push(format!("{address} on {name}"));
        }
    }
    if parts.is_empty() {
        return "the addresses of the IPSet were removed from this host".to_owned();
    }
    for route in &wanted.routes {
        parts.push(format!("{} via {}", route.destination, route.gateway));
    }
    format!("this host has {}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::wanted::tests::{seed, settings};
    use super::*;

    #[test]
    fn what_was_done_is_told() {
        let wish = wanted(&seed(), &settings(), "enp6s0").unwrap();
        let told = note(&wish);
        assert!(told.starts_with("this host has 192.168.122.100/24 on enp6s0, "), "{told}");
        assert!(told.contains("172.20.0.10/24 on enp6s0.50"), "{told}");
        assert!(told.ends_with("10.0.1.0/24 via 10.0.0.100"), "{told}");
        assert!(note(&Wanted::default()).contains("removed"));
    }

    #[test]
    fn only_an_answer_to_the_present_request_counts() {
        let mut ipset = seed();
        assert!(!is_answered(&ipset), "not Ready");
        let ready = serde_json::json!([{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
        ipset.status.as_mut().unwrap().conditions = serde_json::from_value(ready).unwrap();
        assert!(is_answered(&ipset));
        ipset.metadata.generation = Some(2);
        ipset.status.as_mut().unwrap().observed_generation = Some(1);
        assert!(!is_answered(&ipset), "the answer to another request");
    }

    #[test]
    fn both_states_are_on_record_while_one_becomes_the_other() {
        let full = wanted(&seed(), &settings(), "enp6s0").unwrap();
        let mut ipset = seed();
        ipset.status.as_mut().unwrap().reservations.truncate(1);
        ipset.status.as_mut().unwrap().reservations[0].address = "192.168.122.111".into();
        let less = wanted(&ipset, &settings(), "enp6s0").unwrap();
        let both = together(&full, &less);
        assert_eq!(both.vlans, full.vlans);
        assert_eq!(both.nics["enp6s0"].addresses.len(), 3);
        assert_eq!(both.routes.len(), 2);
    }
}
