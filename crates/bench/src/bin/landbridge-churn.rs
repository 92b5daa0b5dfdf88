//! `landbridge-churn`: two operators at once on one API, killed with SIGKILL and started again while
//! IPSets come and go; now and then the API dies, too.
//!
//! It is wrong when at the end an address has two holders, something is claimed or recorded for
//! nobody, or an IPSet is not ready.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Parser;
use kube::api::PostParams;
use kube::{Client, Config};
use landbridge_bench::plane::{Chance, Plane, kill};
use landbridge_bench::sets;

/// For everything to be ready once it is quiet.
const PATIENCE: Duration = Duration::from_mins(2);
/// How many clients create and delete.
const HANDS: usize = 8;

/// Kills operators and the API while IPSets come and go, and looks whether an address is given
/// twice, lost or leaked.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The landbridge binary.
    #[arg(long, value_name = "FILE")]
    server: PathBuf,
    /// How many times to kill something, and to look at the outcome.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// How many IPSets are there at most.
    #[arg(long, default_value_t = 200)]
    sets: usize,
    /// Where chance comes from; printed, so that a run can be repeated.
    #[arg(long)]
    seed: Option<u64>,
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let seed = Chance::seed(arguments.seed)?;
    let directory = tempfile::tempdir()?;
    let plane = Plane::new(arguments.server.clone(), directory.path());
    let (mut passed, mut failed) = (0, 0);
    match play(&plane, &arguments, seed, &mut passed).await {
        Ok(()) => {}
        Err(error) => {
            failed += 1;
            eprintln!("seed {seed}: {error:#}\nlast words:\n{}", plane.last_words());
        }
    }
    println!("{passed} passed, {failed} failed");
    Ok(if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn play(plane: &Plane, arguments: &Arguments, seed: u64, passed: &mut usize) -> Result<()> {
    let mut chance = Chance::new(seed);
    let (mut api, mut config) = plane.up(&["--no-controllers"]).await?;
    sets::prepare(&Client::try_from(config.clone())?).await?;
    let mut operators = [plane.operator()?, plane.operator()?];
    for round in 0..arguments.rounds {
        let began = Instant::now();
        let stop = Arc::new(AtomicBool::new(false));
        let mut hands = tokio::task::JoinSet::new();
        for hand in 0..HANDS {
            let config = config.clone();
            let (stop, limit, seed) =
                (stop.clone(), arguments.sets / HANDS, chance.below(u64::MAX));
            hands.spawn(async move { churn(config, hand, limit, seed, &stop).await });
        }
        let mut deaths = 0;
        for _ in 0..3 + chance.below(4) {
            tokio::time::sleep(Duration::from_millis(100 + chance.below(900))).await;
            let victim = chance.below(5);
            if victim == 4 {
                kill(&mut api).await?;
                (api, config) = plane.up(&["--no-controllers"]).await?;
            } else {
                let which = usize::from(victim % 2 == 1);
                kill(&mut operators[which]).await?;
                operators[which] = plane.operator()?;
            }
            deaths += 1;
        }
        stop.store(true, Ordering::Relaxed);
        let mut writes = 0;
        while let Some(done) = hands.join_next().await {
            writes += done.context("a client stopped")?;
        }
        let client = Client::try_from(config.clone())?;
        sets::all_ready(&client, None, PATIENCE).await?;
        let (all, _, _) = sets::count(&client).await?;
        let wrong = at_rest(&client).await?;
        eprintln!(
            "round {round}: {deaths} deaths, {writes} creates and deletes, {all} IPSets ready, {} contradictions, {} ms",
            wrong.len(),
            began.elapsed().as_millis()
        );
        anyhow::ensure!(wrong.is_empty(), "{}", wrong[..wrong.len().min(20)].join("\n"));
        *passed += 1;
    }
    Ok(())
}

/// What is wrong once deletions have been followed up: the garbage collector takes its time.
async fn at_rest(client: &Client) -> Result<Vec<String>> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let wrong = sets::contradictions(client).await?;
        if wrong.is_empty() || Instant::now() > deadline {
            return Ok(wrong);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Creates and deletes IPSets of its own until told to stop, whatever the API says meanwhile.
async fn churn(config: Config, hand: usize, limit: usize, seed: u64, stop: &AtomicBool) -> usize {
    let mut chance = Chance::new(seed);
    let Ok(client) = Client::try_from(config) else { return 0 };
    let mut done = 0;
    while !stop.load(Ordering::Relaxed) {
        let name = format!("set-{hand}-{}", chance.below(limit.max(1) as u64));
        let result = if chance.below(3) == 0 {
            sets::delete(&client, &name).await
        } else {
            match sets::ipset(&name) {
                Ok(set) => match sets::ipsets(&client).create(&PostParams::default(), &set).await {
                    Ok(_) => Ok(()),
                    Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
                    Err(error) => Err(error.into()),
                },
                Err(error) => Err(error),
            }
        };
        match result {
            Ok(()) => done += 1,
            // The API is dead just now.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    done
}
