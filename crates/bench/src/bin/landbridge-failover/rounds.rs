//! Rounds: a fault, the time until the address answers again, healing, and whether two answer.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use landbridge_bench::plane::Plane;

use crate::faults::{Fault, Lab, TooBusy};
use crate::objects::{self, INTERFACE};
use crate::probe::clock;
use crate::{Kind, RunArguments};

const NODES: [&str; 3] = ["worker-0", "worker-1", "worker-2"];
const CLIENT: &str = "edpm-compute-0";
/// So many good answers in a row.
const GOOD: usize = 20;
/// How often a round is played again because the machine was too busy.
const AGAIN: usize = 5;
/// When there may no longer be two announcers.
const HEALED: Duration = Duration::from_secs(2);
/// How long a fault lasts that does not end by itself.
const LASTS: Duration = Duration::from_millis(1500);
/// For an address to answer steadily between rounds.
const PATIENCE: Duration = Duration::from_mins(1);
/// Answers are steady when there was one to every probe of this long.
const STEADY: Duration = Duration::from_secs(1);

/// One probe.
#[derive(Clone, Debug)]
struct Answer {
    at: u64,
    by: Vec<String>,
}

/// The prober on the client.
struct Prober {
    limit: Duration,
    process: Child,
    answers: Receiver<Answer>,
}

impl Prober {
    fn start(lab: &Lab, kind: Kind, limit: Duration) -> Result<Self> {
        let address = objects::address(1);
        let own = std::env::current_exe()?;
        let mut process = lab
            .exec_command(CLIENT, &own)
            .args(["probe", "--interface", INTERFACE, "--address", &address.to_string()])
            .args(["--kind", if kind == Kind::Arp { "arp" } else { "http" }])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the prober")?;
        let out = process.stdout.take().context("the prober has no output")?;
        let (tell, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let Some((at, by)) = line.split_once(' ') else { continue };
                let Ok(at) = at.parse() else { continue };
                let by = by.split(',').filter(|one| !one.is_empty()).map(str::to_owned).collect();
                if tell.send(Answer { at, by }).is_err() {
                    return;
                }
            }
        });
        Ok(Self { limit, process, answers })
    }

    fn next(&self) -> Result<Answer> {
        let next = self.answers.recv_timeout(Duration::from_secs(10));
        next.context("the prober says nothing any more")
    }

    /// Waits for the same single answer for a while; says whose.
    fn steady(&self) -> Result<String> {
        let deadline = Instant::now() + PATIENCE;
        let mut since: Option<(String, u64)> = None;
        while Instant::now() < deadline {
            let answer = self.next()?;
            let alone = <&[String; 1]>::try_from(answer.by.as_slice())
                .ok()
                .map(|[one]| one.split('/').next().unwrap_or_default().to_owned());
            since = match (alone, since) {
                (None, _) => None,
                (Some(one), Some((same, at))) if same == one => {
                    if answer.at - at >= u64::try_from(STEADY.as_nanos())? {
                        return Ok(one);
                    }
                    Some((same, at))
                }
                (Some(one), _) => Some((one, answer.at)),
            };
        }
        bail!("no steady answer within {PATIENCE:?}")
    }

    /// The time from a moment to the twentieth good answer in a row to what was asked when the fault was there.
    fn recovered(&self, since: u64, there: u64) -> Result<Duration> {
        let mut good = 0;
        let mut course = Course::default();
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let answer = self.next()?;
            if answer.at <= there {
                continue;
            }
            let after = Duration::from_nanos(answer.at - since);
            course.note(after, &answer);
            good = if answer.by.is_empty() { 0 } else { good + 1 };
            if good == GOOD {
                ensure!(
                    after < self.limit,
                    "{GOOD} good answers only after {} ms: {course}",
                    after.as_millis()
                );
                return Ok(after);
            }
        }
        bail!("no {GOOD} good answers within {PATIENCE:?}")
    }

    /// Waits until nothing has been unanswered for a while.
    fn answered(&self) -> Result<()> {
        let wanted = usize::try_from(STEADY.as_millis() / 10)? / 2;
        let (mut good, deadline) = (0, Instant::now() + PATIENCE);
        while good < wanted {
            ensure!(Instant::now() < deadline, "no steady answers within {PATIENCE:?}");
            good = if self.next()?.by.is_empty() { 0 } else { good + 1 };
        }
        Ok(())
    }

    /// Forgets what was answered before now.
    fn drain(&self) {
        while self.answers.try_recv().is_ok() {}
    }

    /// Whether two answer at once within a time.
    fn two_answer(&self, how_long: Duration) -> Result<Option<Answer>> {
        self.drain();
        let until = clock() + u64::try_from(how_long.as_nanos())?;
        loop {
            let answer = self.next()?;
            if answer.by.len() > 1 {
                return Ok(Some(answer));
            }
            if answer.at > until {
                return Ok(None);
            }
        }
    }
}

impl Drop for Prober {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Who answered from when on, for the person who wants to know why it took so long.
#[derive(Default)]
struct Course(Vec<(Duration, String)>);

impl Course {
    fn note(&mut self, after: Duration, answer: &Answer) {
        let by = if answer.by.is_empty() { "nobody".to_owned() } else { answer.by.join("+") };
        if self.0.last().is_none_or(|(_, last)| *last != by) {
            self.0.push((after, by));
        }
    }
}

impl std::fmt::Display for Course {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Pods answer in turn; what matters is when nobody did.
        let mut silent = None;
        for (after, by) in &self.0 {
            match (by == "nobody", silent) {
                (true, None) => silent = Some(after),
                (false, Some(from)) => {
                    write!(
                        f,
                        "silence {}-{} ms, then {by}; ",
                        from.as_millis(),
                        after.as_millis()
                    )?;
                    silent = None;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The time from a fault until all is well.
struct Took {
    /// Pods answer through the address.
    answered: Duration,
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
    let finder = Prober::start(lab, Kind::Arp, limit)?;
    // What pods answer does not tell by which node.
    let asks = (arguments.kind == Kind::Http)
        .then(|| {
            let route = ["ip", "address", "replace", objects::CLIENT, "dev", INTERFACE];
            lab.exec(CLIENT, &route)?;
            Prober::start(lab, Kind::Http, limit)
        })
        .transpose()?;
    let prober = asks.as_ref().unwrap_or(&finder);
    let (mut passed, mut failed) = (0, 0);
    for fault in faults {
        let mut times = Vec::new();
        for round in 1..=arguments.rounds {
            match sure_round(lab, &finder, prober, &macs, *fault) {
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
        let answered = times.iter().map(|took: &Took| took.answered).collect();
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

/// A round of which is known when it began; those of which it is not are played again.
fn sure_round(
    lab: &Lab,
    finder: &Prober,
    prober: &Prober,
    macs: &BTreeMap<String, &str>,
    fault: Fault,
) -> Result<Took> {
    let mut again = AGAIN;
    loop {
        match one_round(lab, finder, prober, macs, fault) {
            Err(error) if again > 0 && error.is::<TooBusy>() => {
                eprintln!("{fault:?}: {error:#}; the round is played again");
                again -= 1;
            }
            outcome => return outcome,
        }
    }
}

fn one_round(
    lab: &Lab,
    finder: &Prober,
    prober: &Prober,
    macs: &BTreeMap<String, &str>,
    fault: Fault,
) -> Result<Took> {
    finder.drain();
    let announcer = finder.steady()?;
    prober.drain();
    prober.answered()?;
    let node = macs.get(&announcer).with_context(|| format!("{announcer} is no node's"))?;
    let at = lab.hurt(fault, node).inspect_err(|_| drop(lab.heal(fault, node)))?;
    let there = clock();
    let answered = prober.recovered(at, there);
    let announced =
        if std::ptr::eq(prober, finder) { None } else { Some(finder.recovered(at, there)) };
    if !matches!(fault, Fault::Kill | Fault::Restart) {
        std::thread::sleep(LASTS);
    }
    lab.heal(fault, node)?;
    std::thread::sleep(HEALED);
    if let Some(answer) = finder.two_answer(Duration::from_secs(1))? {
        bail!("{node}: two nodes answer {HEALED:?} after healing: {}", answer.by.join(" and "));
    }
    let answered = answered.with_context(|| format!("{node}, requests"))?;
    let announced = announced.transpose().with_context(|| format!("{node}, ARP"))?;
    Ok(Took { answered, announced: announced.unwrap_or(answered) })
}
