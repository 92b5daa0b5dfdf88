//! Rounds: a fault, the time until the address answers again, healing, and whether two answer.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use landbridge_bench::plane::Plane;

use crate::faults::{Fault, Lab, TooBusy};
use crate::objects::{self, INTERFACE};
use crate::probe::clock;
use crate::prober::{CLIENT, PATIENCE, Prober};
use crate::{Kind, RunArguments};

const NODES: [&str; 3] = ["worker-0", "worker-1", "worker-2"];
/// How often a round is played again because the machine was too busy.
const AGAIN: usize = 5;
/// When there may no longer be two announcers.
const HEALED: Duration = Duration::from_secs(2);
/// How long a fault lasts that does not end by itself.
const LASTS: Duration = Duration::from_millis(1500);

/// The time from a fault until all is well.
struct Took {
    /// Pods answer through the address, where they are asked.
    answered: Option<Duration>,
    /// A node answers for the address.
    announced: Duration,
}

/// The best, the median and the worst.
fn spread(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let (Some(best), Some(worst)) = (times.first(), times.last()) else { return "-".to_owned() };
    let median = times[times.len() / 2];
    format!("{}/{}/{} ms", best.as_millis(), median.as_millis(), worst.as_millis())
}

/// Plays all rounds; says whether all went well.
pub async fn run(arguments: &RunArguments) -> Result<bool> {
    let directory = tempfile::tempdir()?;
    let plane = Plane::new(arguments.server.clone(), directory.path());
    let mut own = None;
    let state = if let Some(state) = &arguments.dir {
        state.clone()
    } else {
        let (server, _) = plane.up(&["--port", "0", "--lab", "default"]).await?;
        own = Some(server);
        directory.path().join("state")
    };
    let played = play(arguments, &Lab { landbridge: arguments.server.clone(), state }).await;
    if let Some(mut server) = own {
        plane.down().await?;
        server.wait().await?;
    }
    if played.is_err() {
        eprintln!("last words:\n{}", plane.last_words());
    }
    played
}

async fn play(arguments: &RunArguments, lab: &Lab) -> Result<bool> {
    let (file, options) = (lab.state.join("kubeconfig"), KubeConfigOptions::default());
    let config = kube::Config::from_custom_kubeconfig(Kubeconfig::read_from(file)?, &options);
    let client = Client::try_from(config.await?)?;
    let deadline = Instant::now() + PATIENCE;
    while !NODES.iter().all(|node| matches!(lab.agent(node), Ok(Some(_)))) {
        ensure!(Instant::now() < deadline, "the lab has no agents");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    objects::make(&client, arguments.more + 1).await?;
    let faults = if arguments.faults.is_empty() { &Fault::ALL[..] } else { &arguments.faults };
    let mut macs = BTreeMap::new();
    for node in NODES {
        macs.insert(lab.mac(node, INTERFACE)?, node);
    }
    let limit = Duration::from_millis(arguments.limit);
    // What pods answer does not tell by which node.
    let asks = (arguments.kind == Kind::Http)
        .then(|| {
            lab.exec(CLIENT, &["ip", "address", "replace", objects::CLIENT, "dev", INTERFACE])?;
            Prober::start(lab, Kind::Http, limit)
        })
        .transpose()?;
    let scene = Scene { lab, macs, finder: Prober::start(lab, Kind::Arp, limit)?, asks };
    let (mut passed, mut failed) = (0, 0);
    for fault in faults {
        let mut times = Vec::new();
        for round in 1..=arguments.rounds {
            match scene.sure_round(*fault) {
                Ok(took) => {
                    times.push(took);
                    passed += 1;
                }
                Err(error) => {
                    failed += 1;
                    eprintln!("{fault:?}, round {round}: {error:#}");
                }
            }
        }
        let answered = times.iter().filter_map(|took: &Took| took.answered).collect();
        let announced = times.iter().map(|took| took.announced).collect();
        let name = format!("{fault:?}").to_lowercase();
        println!(
            "{name:10} {:3} rounds  pods {}  ARP {}",
            times.len(),
            spread(answered),
            spread(announced)
        );
    }
    println!("{passed} passed, {failed} failed");
    Ok(failed == 0 && passed > 0)
}

/// A lab in which rounds are played.
struct Scene<'a> {
    lab: &'a Lab,
    /// Nodes by the Ethernet address they announce with.
    macs: BTreeMap<String, &'static str>,
    /// Who answers ARP.
    finder: Prober,
    /// Who answers requests, where they are asked.
    asks: Option<Prober>,
}

impl Scene<'_> {
    /// A round of which is known when it began; those of which it is not are played again.
    fn sure_round(&self, fault: Fault) -> Result<Took> {
        let mut again = AGAIN;
        loop {
            match self.round(fault) {
                Err(error) if again > 0 && error.is::<TooBusy>() => {
                    eprintln!("{fault:?}: {error:#}; the round is played again");
                    again -= 1;
                }
                outcome => return outcome,
            }
        }
    }

    fn round(&self, fault: Fault) -> Result<Took> {
        let (lab, finder) = (self.lab, &self.finder);
        finder.drain();
        let announcer = finder.steady()?;
        if let Some(asks) = &self.asks {
            asks.drain();
            asks.answered()?;
        }
        let node = self.macs.get(&announcer);
        let node = node.with_context(|| format!("{announcer} is no node's"))?;
        let at = lab.hurt(fault, node).inspect_err(|_| drop(lab.heal(fault, node)))?;
        let there = clock();
        let answered = self.asks.as_ref().map(|asks| asks.recovered(at, there));
        let announced = finder.recovered(at, there);
        if !matches!(fault, Fault::Kill | Fault::Restart) {
            std::thread::sleep(LASTS);
        }
        lab.heal(fault, node)?;
        std::thread::sleep(HEALED);
        if let Some(answer) = finder.two_answer(Duration::from_secs(1))? {
            bail!("{node}: two nodes answer {HEALED:?} after healing: {}", answer.by.join(" and "));
        }
        Ok(Took {
            answered: answered.transpose().with_context(|| format!("{node}, requests"))?,
            announced: announced.with_context(|| format!("{node}, ARP"))?,
        })
    }
}
