//! Watches what the plan is made of, hands it to the wire, and writes what the wire tells.

mod mirrored;
mod serve;
mod writer;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream};
use futures::{FutureExt as _, StreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client, ResourceExt as _};
use landbridge_api::foreign::metallb::objects::{
    ConfigurationState, IPAddressPool, L2Advertisement, ServiceL2Status,
};
use landbridge_controllers::memberkey::NAMESPACE;
use landbridge_l2::interfaces::{EXCLUDED, Excluded};
use landbridge_l2::members::Settings;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use self::mirrored::{Mirrored, News, told};
use self::writer::Writer;
use super::plan::{Plan, World, plan};
use super::publish;
use super::seen::{SeenAdvertisement, SeenNode, SeenPool, SeenService, SeenSlice};
use super::wire::{Command, Report, Wire};
use crate::members::{self, Dead, follow_key, new_life};

/// So much news is taken in before anything is decided.
const AT_A_TIME: usize = 4096;
/// Plans are made at most this often: one is made of everything there is.
const PLANNED: Duration = Duration::from_millis(20);
/// How often the list of excluded interfaces is read.
const EXCLUDED_READ: Duration = Duration::from_secs(30);
/// What is in it, as MetalLB's installation has it.
const EXCLUDED_MAP: &str = "metallb-excludel2";
const EXCLUDED_KEY: &str = "excludel2.yaml";
const EXCLUDED_FIELD: &str = "announcedInterfacesToExclude";
/// On a ConfigurationState: the node of a speaker.
const SPEAKER: &str = "metallb.io/node-name";

/// What announcing needs.
pub struct Duty {
    /// The API.
    pub client: Client,
    /// The name of the Node object.
    pub node: String,
    /// Where the number of this start is kept.
    pub state_dir: PathBuf,
    /// Where the dead are told.
    pub dead: watch::Sender<Dead>,
}

/// Announces until `stop` is done, then says goodbye.
pub async fn run(duty: Duty, stop: impl Future<Output = ()>) {
    let wire = match start(&duty) {
        Ok(wire) => Arc::new(wire),
        Err(error) => {
            let what = "nothing is announced from this node, and its agent is no member";
            tracing::error!(%error, port = members::PORT, "{what}");
            return stop.await;
        }
    };
    let keys = Arc::clone(&wire);
    let key = follow_key(duty.client.clone(), move |keys_| keys.tell(Command::Keys(keys_)));
    let (tell_excluded, excluded) = watch::channel(None);
    let exclude = follow_excluded(duty.client.clone(), Arc::clone(&wire), tell_excluded);
    let (served, shown) = watch::channel(String::new());
    let serve = serve::run(super::metrics::PORT, shown);
    let work = Driver::new(duty, Arc::clone(&wire), excluded, served).run();
    tokio::select! {
        () = stop => {}
        () = work => {}
        () = key => {}
        () = exclude => {}
        () = serve => {}
    }
    wire.leave().await;
}

fn start(duty: &Duty) -> std::io::Result<Wire> {
    std::fs::create_dir_all(&duty.state_dir)?;
    let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let wall = wall.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0));
    let mut chance = [0; 2];
    getrandom::fill(&mut chance).map_err(|error| std::io::Error::other(error.to_string()))?;
    let life = new_life(&duty.state_dir, wall, u16::from_be_bytes(chance))?;
    let settings = Settings { name: duty.node.clone(), life };
    Wire::start(settings, members::PORT, duty.dead.clone())
}

/// Keeps reading which interfaces are left out. Never ends.
async fn follow_excluded(client: Client, wire: Arc<Wire>, wrong: watch::Sender<Option<String>>) {
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    let mut known: Option<Option<String>> = None;
    loop {
        match maps.get_opt(EXCLUDED_MAP).await {
            Ok(map) => {
                let text = map.and_then(|map| map.data?.remove(EXCLUDED_KEY));
                if known.as_ref() != Some(&text) {
                    match excluded(text.as_deref()) {
                        Ok(excluded) => {
                            wire.tell(Command::Excluded(excluded));
                            wrong.send_replace(None);
                        }
                        // What was read before goes on to hold.
                        Err(why) => drop(wrong.send_replace(Some(why))),
                    }
                    known = Some(text);
                }
            }
            Err(error) => tracing::debug!(%error, "the list of interfaces to exclude"),
        }
        tokio::time::sleep(EXCLUDED_READ).await;
    }
}

/// Reads the list: YAML with one list of patterns, one to a line.
fn excluded(text: Option<&str>) -> Result<Excluded, String> {
    let Some(text) = text else {
        return Excluded::new(&EXCLUDED).map_err(|error| error.to_string());
    };
    let patterns = patterns(text).ok_or_else(|| {
        format!("{EXCLUDED_MAP}: {EXCLUDED_KEY} holds no list {EXCLUDED_FIELD} of patterns")
    })?;
    Excluded::new(&patterns).map_err(|error| format!("{EXCLUDED_MAP}: {error}"))
}

/// The few forms in which this list is written: `field: ["a", "b"]`, or items below it.
fn patterns(text: &str) -> Option<Vec<String>> {
    let unquoted = |item: &str| {
        let item = item.trim();
        let inner = ['"', '\''].iter().find_map(|q| item.strip_prefix(*q)?.strip_suffix(*q));
        inner.unwrap_or(item).to_owned()
    };
    let mut lines = text.lines().map(|line| line.split(" #").next().unwrap_or_default().trim_end());
    let head = lines.find_map(|line| line.trim_start().strip_prefix(EXCLUDED_FIELD))?;
    let head = head.trim_start().strip_prefix(':')?.trim();
    if let Some(list) = head.strip_prefix('[') {
        let list = list.strip_suffix(']')?;
        let items = list.split(',').map(unquoted).filter(|item| !item.is_empty());
        return Some(items.collect());
    }
    let items = lines.map_while(|line| line.trim_start().strip_prefix("- "));
    head.is_empty().then(|| items.map(unquoted).collect())
}

struct Driver {
    duty: Duty,
    wire: Arc<Wire>,
    excluded: watch::Receiver<Option<String>>,
    served: watch::Sender<String>,
    writer: Writer,
    mirrors: Mirrors,
    plan: Plan,
    dirty: bool,
    planned: Instant,
    /// Which request to read again the watches belong to, and whether it was answered.
    reading: u64,
    answered: bool,
}

#[derive(Default)]
struct Mirrors {
    services: Mirrored<SeenService>,
    slices: Mirrored<SeenSlice>,
    nodes: Mirrored<SeenNode>,
    pools: Mirrored<SeenPool>,
    advertisements: Mirrored<Result<SeenAdvertisement, String>>,
    speakers: Mirrored<String>,
    statuses: Mirrored<publish::SeenStatus>,
}

enum Item {
    Service(News<SeenService>),
    Slice(News<SeenSlice>),
    Node(News<SeenNode>),
    Pool(News<SeenPool>),
    Advertisement(News<Result<SeenAdvertisement, String>>),
    Speaker(News<String>),
    Status(News<publish::SeenStatus>),
}

impl Mirrors {
    /// Takes news; says whether the plan may have changed.
    fn take(&mut self, item: Item) -> bool {
        match item {
            Item::Service(news) => self.services.take(news),
            Item::Slice(news) => self.slices.take(news),
            Item::Node(news) => self.nodes.take(news),
            Item::Pool(news) => self.pools.take(news),
            Item::Advertisement(news) => self.advertisements.take(news),
            Item::Speaker(news) => self.speakers.take(news),
            Item::Status(news) => self.statuses.take(news),
        }
    }

    fn restart(&mut self) {
        self.services.restart();
        self.slices.restart();
        self.nodes.restart();
        self.pools.restart();
        self.advertisements.restart();
        self.speakers.restart();
        self.statuses.restart();
    }

    fn complete(&self) -> bool {
        self.services.complete
            && self.slices.complete
            && self.nodes.complete
            && self.pools.complete
            && self.advertisements.complete
            && self.speakers.complete
    }

    fn world(&self) -> World {
        let plain = |(_, name): &(String, String)| name.clone();
        World {
            services: self.services.now.clone(),
            slices: self.slices.now.clone(),
            nodes: self.nodes.now.iter().map(|(key, node)| (plain(key), node.clone())).collect(),
            pools: self.pools.now.iter().map(|(key, pool)| (plain(key), pool.clone())).collect(),
            advertisements: self
                .advertisements
                .now
                .iter()
                .map(|(key, read)| (plain(key), read.clone()))
                .collect(),
            speakers: self.speakers.now.values().cloned().collect(),
        }
    }
}

type Watched = BoxStream<'static, Result<Item, watcher::Error>>;

fn watched(client: &Client) -> Watched {
    let config = watcher::Config::default;
    let every = |client: &Client| client.clone();
    let services = watcher(Api::<Service>::all(every(client)), config()).default_backoff();
    let slices = watcher(Api::<EndpointSlice>::all(every(client)), config()).default_backoff();
    let nodes = watcher(Api::<Node>::all(every(client)), config()).default_backoff();
    let pools = Api::<IPAddressPool>::namespaced(every(client), NAMESPACE);
    let pools = watcher(pools, config()).default_backoff();
    let advertisements = Api::<L2Advertisement>::namespaced(every(client), NAMESPACE);
    let advertisements = watcher(advertisements, config()).default_backoff();
    let speakers = Api::<ConfigurationState>::namespaced(every(client), NAMESPACE);
    let speakers = watcher(speakers, config()).default_backoff();
    let statuses = Api::<ServiceL2Status>::namespaced(every(client), NAMESPACE);
    let statuses = watcher(statuses, config()).default_backoff();
    let speaker = |state: &ConfigurationState| {
        let is = |of: &&String| state.name_any() == format!("speaker-{of}");
        state.labels().get(SPEAKER).filter(is).cloned()
    };
    stream::select_all([
        services.map(|e| e.map(|e| Item::Service(told(e, SeenService::of)))).boxed(),
        slices.map(|e| e.map(|e| Item::Slice(told(e, SeenSlice::of)))).boxed(),
        nodes.map(|e| e.map(|e| Item::Node(told(e, |n| Some(SeenNode::of(n)))))).boxed(),
        pools.map(|e| e.map(|e| Item::Pool(told(e, |p| Some(SeenPool::of(p)))))).boxed(),
        advertisements
            .map(|e| e.map(|e| Item::Advertisement(told(e, |a| Some(SeenAdvertisement::of(a))))))
            .boxed(),
        speakers.map(move |e| e.map(|e| Item::Speaker(told(e, speaker)))).boxed(),
        statuses.map(|e| e.map(|e| Item::Status(told(e, publish::SeenStatus::of)))).boxed(),
    ])
    .boxed()
}

impl Driver {
    fn new(
        duty: Duty,
        wire: Arc<Wire>,
        excluded: watch::Receiver<Option<String>>,
        served: watch::Sender<String>,
    ) -> Self {
        let writer = Writer::new(&duty.client, &duty.node);
        Self {
            duty,
            wire,
            excluded,
            served,
            writer,
            mirrors: Mirrors::default(),
            plan: Plan::default(),
            dirty: false,
            planned: Instant::now(),
            reading: 0,
            answered: false,
        }
    }

    async fn run(mut self) {
        let mut reports = self.wire.reports();
        let mut news = watched(&self.duty.client);
        let (done, mut written) = mpsc::channel(1);
        let mut writing = false;
        loop {
            let planned = self.planned + PLANNED;
            tokio::select! {
                Some(item) = news.next() => {
                    self.take_in(item);
                    for _ in 0..AT_A_TIME {
                        let Some(Some(item)) = news.next().now_or_never() else { break };
                        self.take_in(item);
                    }
                }
                () = tokio::time::sleep_until(planned), if self.dirty => self.replan(),
                changed = reports.changed() => if changed.is_err() {
                    tracing::error!("announcing ended; the agent goes on without it");
                    return std::future::pending().await;
                },
                _ = self.excluded.changed() => {}
                Some(again) = written.recv() => {
                    writing = false;
                    self.writer.ended(again);
                }
                () = self.writer.wait() => {}
            }
            let report = reports.borrow_and_update().clone();
            if report.rereads != self.reading {
                // From the beginning: what was missed is in no watch.
                self.reading = report.rereads;
                self.answered = false;
                self.mirrors.restart();
                news = watched(&self.duty.client);
            }
            self.show(&report);
            if !writing && self.mirrors.complete() && self.mirrors.statuses.complete {
                let trouble = self.trouble();
                let uid = self.mirrors.nodes.now.get(&(String::new(), self.duty.node.clone()));
                let uid = uid.map(|node| node.uid.clone()).unwrap_or_default();
                let uids = |name: &super::plan::Name| {
                    self.mirrors.services.now.get(name).map(|s| s.uid.clone()).unwrap_or_default()
                };
                let statuses = self.mirrors.statuses.now.iter();
                let statuses =
                    statuses.map(|((_, name), status)| (name.clone(), status.clone())).collect();
                let job = self.writer.job(&self.plan, &report, &statuses, uid, trouble, uids);
                if let Some(job) = job {
                    writing = true;
                    let done = done.clone();
                    tokio::spawn(async move {
                        let again = job.run().await;
                        let _ = done.send(again).await;
                    });
                }
            }
        }
    }

    fn take_in(&mut self, item: Result<Item, watcher::Error>) {
        match item {
            Ok(item) => self.dirty |= self.mirrors.take(item),
            Err(error) => tracing::warn!(%error, "a watch of announcing broke; it starts over"),
        }
        if self.mirrors.complete() && !self.answered {
            self.replan();
            self.answered = true;
            self.wire.tell(Command::Reread);
        }
    }

    fn replan(&mut self) {
        if !self.mirrors.complete() {
            self.dirty = false;
            return;
        }
        self.planned = Instant::now();
        self.dirty = false;
        let new = plan(&self.mirrors.world(), &self.duty.node);
        if new != self.plan {
            self.plan = new;
            self.wire.tell(Command::Plan(Box::new(self.plan.clone())));
        }
    }

    fn trouble(&self) -> Option<String> {
        publish::trouble(&self.mirrors.world(), self.excluded.borrow().as_deref())
    }

    fn show(&self, report: &Report) {
        let stale = self.excluded.borrow().is_some()
            || self.mirrors.advertisements.now.values().any(Result::is_err);
        let text = super::metrics::render(&self.duty.node, &self.plan, report, stale);
        self.served.send_if_modified(|known| {
            let new = *known != text;
            *known = text;
            new
        });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_excluded_interfaces() {
        let usual = excluded(None).unwrap();
        assert!(usual.matches("docker0") && !usual.matches("enp6s0"));
        let below = "announcedInterfacesToExclude:\n- ^enp7.*  # not this one\n- \"^lo$\"\n";
        let inline = "announcedInterfacesToExclude: [\"^enp7.*\", '^lo$']";
        for text in [below, inline] {
            let excluded = excluded(Some(text)).unwrap();
            assert!(excluded.matches("enp7s0") && !excluded.matches("docker0"), "{text}");
        }
        for wrong in [
            "",
            "announced: []",
            "announcedInterfacesToExclude: x",
            "announcedInterfacesToExclude: [\"(\"]",
        ] {
            assert!(excluded(Some(wrong)).unwrap_err().starts_with("metallb-excludel2"), "{wrong}");
        }
    }
}
