//! Many pods on one node: how long all of them take, and whether the last take longer than the first.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use landbridge_bench::plugin::Call;
use landbridge_bench::report::{Style, Table, fine};
use landbridge_bench::stats::Summary;

use crate::Arguments;
use crate::node::{NAME, Node, namespaces};
use crate::objects;
use crate::peers::Peers;

/// What whereabouts itself is reported to need for 1,000 pods.
const REPORTED: f64 = 2529.0;

struct Run {
    took: Duration,
    /// By pod.
    calls: Vec<Duration>,
    agent: Duration,
    server: Duration,
}

/// The table of many pods.
pub async fn run(node: &Node, arguments: &Arguments) -> Result<()> {
    let count = arguments.pods;
    if count == 0 {
        return Ok(());
    }
    let netns = namespaces((0..count).map(|n| format!("many-{n:04}"))).await?;
    let pods = objects::pods(&node.client, "many", count, NAME).await?;
    let (plugin, config) = (node.plugin("multus"), node.multus().to_string());
    let ours = |command: &str, n: usize| {
        let (container, args) = (format!("many-{n}"), &pods[n]);
        let (netns, interface) = (&netns[n], "eth0");
        plugin
            .run(command, &Call { container: &container, netns, interface, args, config: &config })
    };
    let all = |command, one: &One<'_>| {
        tokio::task::block_in_place(|| all(node, command, count, arguments.together, one))
    };
    let added = all("ADD", &ours)?;
    let held = objects::held(&node.client).await?;
    for (name, range) in objects::NETWORKS {
        let found = held.get(range).copied().unwrap_or_default();
        ensure!(found == count, "{found} addresses of {name} are held, not {count}");
    }
    let deleted = all("DEL", &ours)?;
    let left: usize = objects::held(&node.client).await?.values().sum();
    ensure!(left == 0, "{left} addresses are still held");

    let spans = spans(count);
    let heads: Vec<String> = spans.iter().map(|span| format!("p50 ms {}", title(span))).collect();
    let mut table = Table::new(&["calls", "s", "pods per s"]);
    table.head(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    table.head(&["last to first", "agent CPU s", "server CPU s"]);
    table.row(row("ADD", &added, &spans));
    table.row(row("DEL", &deleted, &spans));
    if let Some(peers) = &arguments.peers {
        let peers = Peers::new(node, peers);
        let theirs = |command: &str, n: usize| peers.run(command, &format!("their-{n}"), &netns[n]);
        table.row(row("peer ADD", &all("ADD", &theirs)?, &spans));
        table.row(row("peer DEL", &all("DEL", &theirs)?, &spans));
    }
    let together = arguments.together;
    println!("{count} pods with two attachments each on one node, {together} calls at a time");
    println!(
        "(peer: bridge and two macvlan with host-local, one after the other, nobody above them)\n"
    );
    println!("{}", table.render(Style::Plain));
    if count == 1000 {
        let times = REPORTED / added.took.as_secs_f64();
        println!("  whereabouts is reported to need {REPORTED} s (elsewhere): {times:.0} times\n");
    }
    Ok(())
}

fn row(what: &str, run: &Run, spans: &[Range<usize>]) -> Vec<String> {
    let medians: Vec<f64> =
        spans.iter().map(|span| Summary::of(run.calls[span.clone()].to_vec()).p50_ms).collect();
    let growth = medians.last().zip(medians.first()).map(|(last, first)| last / first);
    let mut row = vec![what.to_owned(), fine(run.took.as_secs_f64())];
    row.push(format!("{:.0}", run.calls.len() as f64 / run.took.as_secs_f64()));
    row.extend(medians.iter().map(|median| fine(*median)));
    row.push(fine(growth.unwrap_or_default()));
    row.extend([fine(run.agent.as_secs_f64()), fine(run.server.as_secs_f64())]);
    row
}

/// The first hundred, the fifth and the last; of few pods the first and the last half.
fn spans(count: usize) -> Vec<Range<usize>> {
    if count >= 500 {
        vec![0..100, 400..500, count - 100..count]
    } else {
        vec![0..count / 2, count / 2..count]
    }
}

fn title(span: &Range<usize>) -> String {
    format!("{}-{}", span.start + 1, span.end)
}

/// What is done for one pod, by its number, and how long it took.
type One<'a> = dyn Fn(&str, usize) -> Result<Duration> + Sync + 'a;

/// The same for every pod.
fn all(node: &Node, command: &str, count: usize, together: usize, one: &One<'_>) -> Result<Run> {
    let next = AtomicUsize::new(0);
    let calls = Mutex::new(vec![Duration::ZERO; count]);
    let (agent, server) = node.cpu()?;
    let began = Instant::now();
    let hand = || -> Result<()> {
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            if n >= count {
                return Ok(());
            }
            let took = one(command, n)?;
            if let Ok(mut calls) = calls.lock() {
                calls[n] = took;
            }
        }
    };
    std::thread::scope(|scope| {
        let hands: Vec<_> = (0..together).map(|_| scope.spawn(hand)).collect();
        let mut ends = hands.into_iter().map(std::thread::ScopedJoinHandle::join);
        ends.try_for_each(|end| end.unwrap_or_else(|_| anyhow::bail!("a thread broke off")))
    })?;
    let took = began.elapsed();
    let (agent_now, server_now) = node.cpu()?;
    let calls = calls.into_inner().unwrap_or_default();
    Ok(Run {
        took,
        calls,
        agent: agent_now.saturating_sub(agent),
        server: server_now.saturating_sub(server),
    })
}
