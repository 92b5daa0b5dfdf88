//! Looks again whenever something changes that claims of nodes depend on, and now and then.

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _, stream};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, watcher};
use kube::{Client, Resource};
use landbridge_api::foreign::nmstate::objects::NodeNetworkConfigurationEnactment;
use landbridge_api::ledger::{AddressBlock, AddressBlockSpec, block_prefix, swap_patch};
use landbridge_api::network::NetConfig;
use serde_json::Value;

use super::engine::{self, Edit};
use crate::ipam::seen::Block;

/// Under this name the writes appear in managedFields.
const MANAGER: &str = "landbridge-hosts";
/// Without a change.
const EACH: Duration = Duration::from_secs(30);
/// After a change, because more changes will follow.
const SETTLE: Duration = Duration::from_millis(100);
/// After a lost swap or an error.
const AGAIN: Duration = Duration::from_secs(2);

/// Keeps the claims of nodes until `stop` is done.
pub async fn run(client: Client, stop: impl Future<Output = ()>) {
    let mut stop = std::pin::pin!(stop);
    let mut changes = stream::select(
        changes::<NodeNetworkConfigurationEnactment>(&client),
        changes::<NetConfig>(&client),
    );
    let mut told = BTreeSet::new();
    let mut wait = EACH;
    loop {
        tokio::select! {
            () = &mut stop => return,
            () = tokio::time::sleep(wait) => {}
            Some(()) = changes.next() => {
                tokio::time::sleep(SETTLE).await;
                while changes.next().now_or_never().is_some() {}
            }
        }
        wait = match pass(&client, &mut told).await {
            Ok(true) => EACH,
            Ok(false) => AGAIN,
            Err(error) => {
                tracing::debug!(%error, "claims of nodes are looked at again");
                AGAIN
            }
        };
    }
}

/// Something changed. A kind that is not there yet is asked for again, slower each time.
fn changes<K>(client: &Client) -> stream::BoxStream<'static, ()>
where
    K: Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + std::fmt::Debug,
    K: Send + 'static,
{
    watcher(Api::<K>::all(client.clone()), watcher::Config::default())
        .default_backoff()
        .filter_map(|event| async move { event.is_ok().then_some(()) })
        .boxed()
}

/// One pass; whether all of it was done.
async fn pass(client: &Client, told: &mut BTreeSet<String>) -> kube::Result<bool> {
    let blocks: Api<AddressBlock> = Api::all(client.clone());
    let configs: Vec<NetConfig> = list(client).await?;
    let netconfigs: Vec<Value> =
        configs.iter().filter_map(|config| serde_json::to_value(config).ok()).collect();
    let enactments: Vec<NodeNetworkConfigurationEnactment> = list(client).await?;
    let seen: Vec<Block> =
        list::<AddressBlock>(client).await?.into_iter().map(Block::from).collect();
    let plan = engine::plan(&engine::wanted(&netconfigs, &enactments), &seen);
    let mut is_done = true;
    for (name, edit) in &plan.edits {
        match swap(&blocks, name, edit).await {
            Ok(()) => tracing::info!(block = name, changes = edit.edits.len(), "claims of nodes"),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => is_done = false,
            Err(error) => return Err(error),
        }
    }
    for what in plan.doubles.iter().filter(|what| !told.contains(*what)) {
        tracing::warn!(what, "one address has two holders");
    }
    *told = plan.doubles.into_iter().collect();
    Ok(is_done)
}

/// All objects of a kind; none where the kind is not known.
async fn list<K>(client: &Client) -> kube::Result<Vec<K>>
where
    K: Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + std::fmt::Debug,
{
    match Api::<K>::all(client.clone()).list(&ListParams::default()).await {
        Ok(list) => Ok(list.items),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

async fn swap(blocks: &Api<AddressBlock>, name: &str, edit: &Edit) -> kube::Result<()> {
    let manager = Some(MANAGER.to_owned());
    match &edit.from {
        None => {
            let claims = edit.edits.iter();
            let spec = AddressBlockSpec {
                segment: edit.segment.to_string(),
                block: block_prefix(edit.base),
                claims: claims.filter_map(|(a, claim)| Some((*a, claim.clone()?))).collect(),
            };
            let params = PostParams { field_manager: manager, ..PostParams::default() };
            blocks.create(&params, &AddressBlock::new(name, spec)).await.map(|_| ())
        }
        Some(from) if edit.empties() => {
            let preconditions = Preconditions {
                uid: Some(from.uid.to_string()),
                resource_version: Some(from.revision.to_string()),
            };
            let params =
                DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
            blocks.delete(name, &params).await.map(|_| ())
        }
        Some(from) => {
            let patch = swap_patch(&from.uid, &from.revision.to_string(), &edit.edits);
            let params = PatchParams { field_manager: manager, ..PatchParams::default() };
            blocks.patch(name, &params, &Patch::Merge(patch)).await.map(|_| ())
        }
    }
}
