//! `landbridge-crash`: kills a server with SIGKILL while clients write, starts it again, and compares.
//!
//! Per round: start → compare what is there with the ledgers → write → kill. It is wrong when an
//! acknowledged write is missing, a deleted object is back, or a revision is handed out twice.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Parser;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client, Config};
use landbridge_bench::ledger::Ledger;
use landbridge_bench::plane::{Chance, Plane, kill};
use serde_json::json;
use tokio::process::Child;
use tokio::task::JoinSet;

const NAMESPACE: &str = "crash";

/// Kills a server while clients write, and looks whether anything acknowledged is lost.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The landbridge binary.
    #[arg(long, value_name = "FILE")]
    server: PathBuf,
    /// How many times to kill it.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Go on for so many minutes instead.
    #[arg(long, conflicts_with = "rounds")]
    minutes: Option<u64>,
    /// How many clients write.
    #[arg(long, default_value_t = 8)]
    writers: usize,
    /// Where the moments of death come from; printed, so that a run can be repeated.
    #[arg(long)]
    seed: Option<u64>,
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let seed = Chance::seed(arguments.seed)?;
    let end = arguments.minutes.map(|minutes| Instant::now() + Duration::from_mins(minutes));
    let directory = tempfile::tempdir()?;
    let mut trial = Trial {
        plane: Plane::new(arguments.server, directory.path()),
        chance: Chance::new(seed),
        writers: (0..arguments.writers)
            .map(|id| Writer { id, turn: 0, ledger: Ledger::default() })
            .collect(),
        highest: 0,
    };

    let (mut passed, mut failed) = (0, 0);
    while end.map_or(passed + failed < arguments.rounds, |end| Instant::now() < end) {
        let wrong = match trial.round().await {
            Ok(wrong) => wrong,
            Err(error) => vec![format!("{error:#}")],
        };
        if wrong.is_empty() {
            passed += 1;
            continue;
        }
        failed += 1;
        eprintln!("round {} with seed {seed}:", passed + failed);
        wrong.iter().take(20).for_each(|line| eprintln!("  {line}"));
        eprintln!("the server's last words:\n{}", trial.plane.last_words());
        break;
    }
    println!("{passed} passed, {failed} failed");
    Ok(if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Trial {
    plane: Plane,
    chance: Chance,
    writers: Vec<Writer>,
    /// The highest revision any answer ever carried.
    highest: u64,
}

impl Trial {
    /// One life of the server, and the look at what its successor finds.
    async fn round(&mut self) -> Result<Vec<String>> {
        let (mut server, config) = self.plane.up(&[]).await?;
        let lifetime = Duration::from_millis(300 + self.chance.below(1500));
        let acknowledged = self.write_until_killed(&mut server, &config, lifetime).await?;

        let (mut server, config) = self.plane.up(&[]).await?;
        let (wrong, objects) = self.compare(&Client::try_from(config)?).await?;
        // Dies right after its start, too: recovery must survive a crash.
        kill(&mut server).await?;
        eprintln!(
            "killed after {} ms: {acknowledged} writes acknowledged, {objects} objects found, {} contradictions",
            lifetime.as_millis(),
            wrong.len()
        );
        Ok(wrong)
    }

    async fn write_until_killed(
        &mut self,
        server: &mut Child,
        config: &Config,
        lifetime: Duration,
    ) -> Result<usize> {
        let namespaces: Api<Namespace> = Api::all(Client::try_from(config.clone())?);
        if namespaces.get_opt(NAMESPACE).await?.is_none() {
            let namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}}))?;
            namespaces.create(&PostParams::default(), &namespace).await?;
        }
        let mut tasks = JoinSet::new();
        for mut writer in self.writers.drain(..) {
            let client = Client::try_from(config.clone())?;
            let floor = self.highest;
            tasks.spawn(async move {
                let life = writer.live(&Api::namespaced(client, NAMESPACE), floor).await;
                (writer, life)
            });
        }
        tokio::time::sleep(lifetime).await;
        kill(server).await?;
        let (mut acknowledged, mut reused) = (0, None);
        while let Some(done) = tasks.join_next().await {
            let (writer, life) = done.context("a writer stopped")?;
            acknowledged += life.acknowledged;
            self.highest = self.highest.max(life.highest);
            reused = reused.or(life.wrong);
            self.writers.push(writer);
        }
        match reused {
            Some(wrong) => bail!(wrong),
            None => Ok(acknowledged),
        }
    }

    async fn compare(&mut self, client: &Client) -> Result<(Vec<String>, usize)> {
        let api: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
        let list = api.list(&ListParams::default()).await?;
        let revision =
            list.metadata.resource_version.as_deref().unwrap_or_default().parse::<u64>()?;
        let mut found = BTreeMap::new();
        for item in &list.items {
            let value = item.data.as_ref().and_then(|data| data.get("n")?.parse().ok());
            if let (Some(name), Some(value)) = (&item.metadata.name, value) {
                found.insert(name.clone(), value);
            }
        }
        let mut wrong: Vec<String> =
            self.writers.iter_mut().flat_map(|writer| writer.ledger.settle(&found)).collect();
        if revision < self.highest {
            wrong.push(format!(
                "the list is at revision {revision}, but {} was handed out before",
                self.highest
            ));
        }
        Ok((wrong, found.len()))
    }
}

/// What a writer saw in one life of the server.
struct Life {
    acknowledged: usize,
    highest: u64,
    wrong: Option<String>,
}

/// One client with keys of its own.
struct Writer {
    id: usize,
    turn: u64,
    ledger: Ledger,
}

impl Writer {
    /// Creates, updates and deletes until the server no longer answers.
    async fn live(&mut self, api: &Api<ConfigMap>, floor: u64) -> Life {
        let mut life = Life { acknowledged: 0, highest: floor, wrong: None };
        loop {
            self.turn += 1;
            let key = format!("w{}-{}", self.id, self.turn % 17);
            let present = self.ledger.known(&key).is_some();
            let to = (!present || !self.turn.is_multiple_of(5)).then_some(self.turn);
            self.ledger.begin(&key, to);
            let answer = match (present, to) {
                (true, None) => api.delete(&key, &DeleteParams::default()).await.map(|_| None),
                (true, Some(value)) => {
                    api.replace(&key, &PostParams::default(), &object(&key, value)).await.map(Some)
                }
                (false, value) => api
                    .create(&PostParams::default(), &object(&key, value.unwrap_or_default()))
                    .await
                    .map(Some),
            };
            match answer {
                Ok(object) => {
                    self.ledger.acknowledge(&key);
                    life.acknowledged += 1;
                    let version = object
                        .and_then(|object| object.metadata.resource_version?.parse::<u64>().ok());
                    match version {
                        Some(version) if version <= floor => {
                            life.wrong = Some(format!(
                                "{key} got revision {version}, though {floor} was handed out before"
                            ));
                        }
                        Some(version) => life.highest = life.highest.max(version),
                        None => {}
                    }
                }
                Err(kube::Error::Api(status)) if status.code < 500 => {
                    self.ledger.refuse(&key);
                    life.wrong = Some(format!("{key}: {}", status.message));
                    return life;
                }
                Err(_dead) => return life,
            }
        }
    }
}

fn object(name: &str, value: u64) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.data = Some(BTreeMap::from([("n".to_owned(), value.to_string())]));
    map
}
