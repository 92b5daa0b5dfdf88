//! Watches the records and writes to them.

use std::future::Future;
use std::time::Duration;

use futures::stream::{self, BoxStream};
use futures::{FutureExt as _, StreamExt as _};
use jiff::Timestamp;
use kube::Client as Kube;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, watcher};
use landbridge_openstack::Client;
use serde_json::Value;

use super::Settings;
use super::record::{Kind, Record};
use super::round::round;
use super::told::Write;
use crate::io::{Manager, is_lost};

const MANAGER: Manager = Manager("landbridge-keystone");
const GROUP: &str = "keystone.openstack.org";
/// After a change, because more changes will follow.
const SETTLE: Duration = Duration::from_millis(100);
/// After a failure; twice as long after each further one, but not longer than without.
const AGAIN: Duration = Duration::from_secs(2);
/// So many rounds follow each other at once.
const ROUNDS: usize = 8;

/// Keeps Keystone's catalogue as declared until `stop` is done.
pub async fn run(kube: Kube, cloud: Client, settings: Settings, stop: impl Future<Output = ()>) {
    let mut stop = std::pin::pin!(stop);
    let mut changes = stream::select_all(Kind::ALL.map(|kind| changes(&kube, kind)));
    let mut wait = Duration::ZERO;
    let mut failures = 0_u32;
    loop {
        tokio::select! {
            () = &mut stop => return,
            () = tokio::time::sleep(wait) => {}
            Some(()) = changes.next() => {
                tokio::time::sleep(SETTLE).await;
                while changes.next().now_or_never().is_some() {}
            }
        }
        let worked = tokio::select! {
            () = &mut stop => return,
            worked = work(&kube, &cloud, &settings) => worked,
        };
        failures = match worked {
            Ok(true) => 0,
            Ok(false) => failures.saturating_add(1),
            Err(error) => {
                tracing::debug!(%error, "records for Keystone are looked at again");
                failures.saturating_add(1)
            }
        };
        wait = match failures {
            0 => settings.period,
            many => AGAIN.saturating_mul(1 << (many - 1).min(8)).min(settings.period.max(AGAIN)),
        };
    }
}

/// Something changed. A kind that is not there yet is asked for again, slower each time.
fn changes(kube: &Kube, kind: Kind) -> BoxStream<'static, ()> {
    let api = Api::<DynamicObject>::all_with(kube.clone(), &resource(kind.names()));
    watcher(api, watcher::Config::default())
        .default_backoff()
        .filter_map(|event| async move { event.is_ok().then_some(()) })
        .boxed()
}

fn resource((kind, plural): (&str, &str)) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, "v1beta1", kind), plural)
}

/// Rounds until nothing moves; whether everything is as declared.
async fn work(kube: &Kube, cloud: &Client, settings: &Settings) -> kube::Result<bool> {
    for _ in 0..ROUNDS {
        let mut records = Vec::new();
        for kind in Kind::ALL {
            let found = list(kube, kind.names()).await?;
            records.extend(found.into_iter().map(|object| Record::new(kind, object)));
        }
        let region = region(kube, settings).await?;
        let ended = round(cloud, &records, &region, Timestamp::now()).await;
        let mut is_written = true;
        for (place, write) in &ended.writes {
            if let Some(record) = records.get(*place) {
                is_written &= write_to(kube, record, write).await?;
            }
        }
        if ended.is_failing {
            return Ok(false);
        }
        if !ended.is_moving && is_written {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The region that a KeystoneAPI says.
async fn region(kube: &Kube, settings: &Settings) -> kube::Result<String> {
    let found = list(kube, ("KeystoneAPI", "keystoneapis")).await?;
    let said = found.iter().filter_map(|object| object["spec"]["region"].as_str());
    let said = said.filter(|region| !region.is_empty()).min();
    Ok(said.unwrap_or(&settings.region).to_owned())
}

/// All objects of a kind; none where the kind is not known.
async fn list(kube: &Kube, names: (&str, &str)) -> kube::Result<Vec<Value>> {
    let api = Api::<DynamicObject>::all_with(kube.clone(), &resource(names));
    match api.list(&ListParams::default()).await {
        Ok(list) => {
            Ok(list.items.into_iter().filter_map(|one| serde_json::to_value(one).ok()).collect())
        }
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Whether it was written. When somebody was faster, it is looked at again.
async fn write_to(kube: &Kube, record: &Record, write: &Write) -> kube::Result<bool> {
    let namespace = &record.key.namespace;
    let api: Api<DynamicObject> =
        Api::namespaced_with(kube.clone(), namespace, &resource(record.kind.names()));
    let (name, params) = (&*record.key.name, MANAGER.patch());
    let result = match write {
        Write::Finalizers(patch) => api.patch(name, &params, &Patch::Merge(patch)).await,
        Write::Status(patch) => api.patch_status(name, &params, &Patch::Merge(patch)).await,
    };
    match result {
        Ok(_) => Ok(true),
        Err(error) if is_lost(&error) => Ok(false),
        Err(error) => Err(error),
    }
}
