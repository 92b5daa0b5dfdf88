//! The key with which agents sign what they tell each other: made once, renewed every day.
//!
//! ```text
//!  next ──(everybody has read it)──► current ──► previous ──► gone
//! ```
//!
//! A key is accepted by all before anybody signs with it, and for a while after nobody does any
//! more; so no agent is ever deaf, however late it reads. Two controllers that do this at once
//! cannot disturb each other: a write is taken only if nobody was faster.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, PostParams};
use kube::{Client, Error};

/// Where it is: with what it is for.
pub const NAMESPACE: &str = "metallb-system";
/// The name of the Secret. MetalLB's own is `memberlist`.
pub const SECRET: &str = "landbridge-members";
/// What is signed with.
pub const CURRENT: &str = "current";
/// What will be signed with.
pub const NEXT: &str = "next";
/// What was signed with.
pub const PREVIOUS: &str = "previous";
/// When the last step was made.
const STEPPED: &str = "landbridge.dev/stepped-at";

/// How long one key is signed with.
const RENEWED: Duration = Duration::from_hours(24);
/// How long everybody has to read a new one: agents read every half minute.
const SPREAD: Duration = Duration::from_mins(10);
/// How often this is looked at.
const LOOK: Duration = Duration::from_mins(1);
/// How soon again when something went wrong.
const AGAIN: Duration = Duration::from_secs(2);
const KEY_BYTES: usize = 32;

/// What the Secret is to look like; nothing when it is fine as it is.
pub fn plan(known: Option<&Secret>, now: Timestamp, fresh: [u8; KEY_BYTES]) -> Option<Secret> {
    let key = || ByteString(fresh.to_vec());
    let Some(known) = known else {
        let data = BTreeMap::from([(CURRENT.to_owned(), key())]);
        return Some(secret(ObjectMeta::default(), data, now));
    };
    let mut data = known.data.clone().unwrap_or_default();
    let usable = |key: Option<&ByteString>| key.is_some_and(|key| key.0.len() >= KEY_BYTES);
    let meta = known.metadata.clone();
    if !usable(data.get(CURRENT)) {
        data.insert(CURRENT.to_owned(), key());
        return Some(secret(meta, data, now));
    }
    let stepped = meta.annotations.as_ref().and_then(|all| all.get(STEPPED)?.parse().ok());
    let since = stepped.map(|at: Timestamp| now.duration_since(at));
    let over = |limit: Duration| {
        // Without a time, or with one that is still to come, nobody knows: then it is time.
        since.is_none_or(|since| since.is_negative() || since.unsigned_abs() >= limit)
    };
    if usable(data.get(NEXT)) {
        if !over(SPREAD) {
            return None;
        }
        if let Some(next) = data.remove(NEXT)
            && let Some(current) = data.insert(CURRENT.to_owned(), next)
        {
            data.insert(PREVIOUS.to_owned(), current);
        }
        return Some(secret(meta, data, now));
    }
    if data.contains_key(PREVIOUS) && over(SPREAD) {
        data.remove(PREVIOUS);
        // The time stays: it is the age of the current one.
        let mut without = known.clone();
        without.data = Some(data);
        return Some(without);
    }
    if over(RENEWED) {
        data.insert(NEXT.to_owned(), key());
        return Some(secret(meta, data, now));
    }
    None
}

fn secret(mut meta: ObjectMeta, data: BTreeMap<String, ByteString>, now: Timestamp) -> Secret {
    meta.name = Some(SECRET.to_owned());
    meta.namespace = Some(NAMESPACE.to_owned());
    meta.annotations.get_or_insert_default().insert(STEPPED.to_owned(), now.to_string());
    Secret {
        metadata: meta,
        data: Some(data),
        type_: Some("Opaque".to_owned()),
        ..Secret::default()
    }
}

/// Keeps the key until `stop` is done.
pub async fn run(client: Client, stop: impl Future<Output = ()>) {
    let keep = async {
        let mut failing = false;
        loop {
            let wait = match keep(&client).await {
                Ok(()) => {
                    failing = false;
                    LOOK
                }
                // Somebody else was faster: look what it is now.
                Err(Error::Api(status)) if status.code == 409 => AGAIN,
                Err(error) => {
                    if !std::mem::replace(&mut failing, true) {
                        tracing::warn!(%error, "cannot keep the key of members ({NAMESPACE}/{SECRET})");
                    }
                    AGAIN
                }
            };
            tokio::time::sleep(wait).await;
        }
    };
    tokio::select! {
        () = stop => {}
        () = keep => {}
    }
}

async fn keep(client: &Client) -> kube::Result<()> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
    let known = secrets.get_opt(SECRET).await?;
    let mut fresh = [0; KEY_BYTES];
    getrandom::fill(&mut fresh)
        .map_err(|error| Error::Service(std::io::Error::other(error.to_string()).into()))?;
    let Some(wanted) = plan(known.as_ref(), Timestamp::now(), fresh) else { return Ok(()) };
    if known.is_some() {
        secrets.replace(SECRET, &PostParams::default(), &wanted).await?;
        return Ok(());
    }
    let namespaces: Api<Namespace> = Api::all(client.clone());
    if namespaces.get_opt(NAMESPACE).await?.is_none() {
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(NAMESPACE.to_owned());
        match namespaces.create(&PostParams::default(), &namespace).await {
            Err(Error::Api(status)) if status.code == 409 => {}
            other => drop(other?),
        }
    }
    secrets.create(&PostParams::default(), &wanted).await.map(drop)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + hours * 3600).unwrap()
    }

    fn parts(secret: &Secret) -> Vec<(&str, u8)> {
        let data = secret.data.iter().flatten();
        data.map(|(name, bytes)| (name.as_str(), bytes.0[0])).collect()
    }

    /// From step to step every key that anybody may sign with is accepted by everybody who has seen
    /// this step or the one before.
    #[test]
    fn a_key_lives_in_steps() {
        let first = plan(None, at(0), [1; 32]).unwrap();
        assert_eq!(parts(&first), [(CURRENT, 1)]);
        assert_eq!(plan(Some(&first), at(23), [2; 32]), None);
        let spreading = plan(Some(&first), at(25), [2; 32]).unwrap();
        assert_eq!(parts(&spreading), [(CURRENT, 1), (NEXT, 2)]);
        let soon = at(25) + jiff::SignedDuration::from_mins(9);
        assert_eq!(plan(Some(&spreading), soon, [3; 32]), None, "not everybody has read it");
        let changed = plan(Some(&spreading), at(26), [3; 32]).unwrap();
        assert_eq!(parts(&changed), [(CURRENT, 2), (PREVIOUS, 1)]);
        assert_eq!(plan(Some(&changed), at(26), [3; 32]), None);
        let alone = plan(Some(&changed), at(27), [3; 32]).unwrap();
        assert_eq!(parts(&alone), [(CURRENT, 2)]);
        assert_eq!(plan(Some(&alone), at(49), [3; 32]), None);
        let again = plan(Some(&alone), at(51), [3; 32]).unwrap();
        assert_eq!(parts(&again), [(CURRENT, 2), (NEXT, 3)]);
    }

    #[test]
    fn a_broken_secret_is_mended() {
        let mut broken = plan(None, at(0), [1; 32]).unwrap();
        broken.data = Some(BTreeMap::from([(CURRENT.to_owned(), ByteString(vec![9; 5]))]));
        assert_eq!(parts(&plan(Some(&broken), at(0), [2; 32]).unwrap()), [(CURRENT, 2)]);
        broken.data = None;
        assert_eq!(parts(&plan(Some(&broken), at(0), [3; 32]).unwrap()), [(CURRENT, 3)]);
        // A time that is missing, or nonsense, does not stop the renewal.
        let mut timeless = plan(None, at(0), [1; 32]).unwrap();
        timeless.metadata.annotations = None;
        assert_eq!(parts(&plan(Some(&timeless), at(0), [4; 32]).unwrap()).len(), 2);
    }
}
