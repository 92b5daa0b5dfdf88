//! Single calls, one at a time: theirs and ours in turn, so that what else the machine does hits both.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use landbridge_bench::plugin::{Call, Plugin};
use landbridge_bench::report::{Style, Table, fine, optional};
use landbridge_bench::stats::{Summary, ratio};
use serde_json::json;

use crate::Arguments;
use crate::node::{MASTER, NAME, Node, namespaces};
use crate::objects::{self, args, macvlan};

/// What one kind of plugin took.
#[derive(Default)]
struct Times {
    add: Vec<Duration>,
    del: Vec<Duration>,
}

impl Times {
    fn take(&mut self, plugin: &Plugin, call: &Call<'_>) -> Result<()> {
        self.add.push(plugin.run("ADD", call)?);
        self.del.push(plugin.run("DEL", call)?);
        Ok(())
    }
}

/// The table of single calls. Also makes the objects that later parts use.
pub async fn run(node: &Node, arguments: &Arguments) -> Result<()> {
    objects::prepare(&node.client, MASTER).await?;
    let netns = namespaces(["calls".to_owned()]).await?.remove(0);
    let (count, peers) = (arguments.calls, arguments.peers.as_deref());
    let (ours, theirs) = tokio::task::block_in_place(|| in_turn(node, &netns, count, peers))?;
    let pods = objects::pods(&node.client, "single", count, NAME).await?;
    let multus = tokio::task::block_in_place(|| multus(node, &netns, &pods))?;

    let mut table = Table::new(&["call", "calls", "p50 ms", "p99 ms"]);
    table.head(&["peer p50 ms", "peer p99 ms", "ratio of p50"]);
    let mut row = |what: &str, ours: Vec<Duration>, theirs: Option<Vec<Duration>>| {
        let ours = Summary::of(ours);
        let theirs = theirs.map(Summary::of);
        table.row(vec![
            what.to_owned(),
            ours.count.to_string(),
            fine(ours.p50_ms),
            fine(ours.p99_ms),
            optional(theirs.map(|theirs| theirs.p50_ms)),
            optional(theirs.map(|theirs| theirs.p99_ms)),
            optional(theirs.and_then(|theirs| ratio(ours.p50_ms, theirs.p50_ms))),
        ]);
    };
    let (their_add, their_del) = theirs.map(|theirs| (theirs.add, theirs.del)).unzip();
    row("ADD macvlan", ours.add, their_add);
    row("DEL macvlan", ours.del, their_del);
    row("ADD multus", multus.add, None);
    row("DEL multus", multus.del, None);
    println!("single calls: macvlan with whereabouts; peer: macvlan with host-local");
    println!("(multus: a pod with a bridge as the cluster's network and two such attachments)\n");
    println!("{}", table.render(Style::Plain));
    Ok(())
}

/// Each round gives both the same namespace and the same master; who comes first changes.
fn in_turn(
    node: &Node,
    netns: &Path,
    count: usize,
    peers: Option<&Path>,
) -> Result<(Times, Option<Times>)> {
    let range = "172.30.32.0/20";
    let ipam = json!({"type": "whereabouts", "range": range});
    let our_config = macvlan("calls", MASTER, &ipam).to_string();
    let ipam = json!({
        "type": "host-local", "ranges": [[{"subnet": range}]], "dataDir": node.files("host-local"),
    });
    let their_config = macvlan("calls", MASTER, &ipam).to_string();
    let our_plugin = node.plugin("macvlan");
    let their_plugin =
        peers.map(|peers| Plugin { program: peers.join("macvlan"), variables: Vec::new() });
    let (mut ours, mut theirs) = (Times::default(), Times::default());
    for round in 0..count {
        let (pod, args) = (format!("call-{round}"), args(&format!("call-{round}"), ""));
        let with = |config| Call { container: &pod, netns, interface: "net1", args: &args, config };
        if round % 2 == 0 {
            ours.take(&our_plugin, &with(&our_config))?;
        }
        if let Some(plugin) = &their_plugin {
            theirs.take(plugin, &with(&their_config))?;
        }
        if round % 2 == 1 {
            ours.take(&our_plugin, &with(&our_config))?;
        }
    }
    Ok((ours, their_plugin.map(|_| theirs)))
}

fn multus(node: &Node, netns: &Path, pods: &[String]) -> Result<Times> {
    let (plugin, config) = (node.plugin("multus"), node.multus().to_string());
    let mut times = Times::default();
    for (n, args) in pods.iter().enumerate() {
        let container = format!("single-{n}");
        let call = Call { container: &container, netns, interface: "eth0", args, config: &config };
        times.take(&plugin, &call)?;
    }
    Ok(times)
}
