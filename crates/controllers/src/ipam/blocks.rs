//! Blocks of the ledger, written by compare-and-swap.

use std::time::Duration;

use kube::Client;
use kube::api::{Api, DeleteParams, Patch, Preconditions};
use landbridge_api::ledger::{AddressBlock, AddressBlockSpec, block_prefix, swap_patch};

use super::ledger::{Swap, Swapped};
use crate::io::{Manager, is_lost};

/// After a swap that could not be tried.
const PAUSE: Duration = Duration::from_millis(500);

/// All of them.
pub(crate) struct Blocks {
    api: Api<AddressBlock>,
    manager: Manager,
}

impl Blocks {
    pub fn new(client: Client, manager: Manager) -> Self {
        Self { api: Api::all(client), manager }
    }

    /// One by its name.
    pub async fn get(&self, name: &str) -> kube::Result<Option<AddressBlock>> {
        self.api.get_opt(name).await
    }

    /// Tries a swap, and says what the block is afterwards, whoever wrote it.
    pub async fn swap(&self, swap: &Swap) -> Swapped {
        let result = match &swap.from {
            None => self.create(swap).await.map(Some),
            Some((uid, revision)) if swap.empties => {
                let preconditions = Preconditions {
                    uid: Some(uid.to_string()),
                    resource_version: Some(revision.to_string()),
                };
                let params =
                    DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
                self.api.delete(&swap.name, &params).await.map(|_| None)
            }
            Some((uid, revision)) => {
                let patch = Patch::Merge(swap_patch(uid, &revision.to_string(), &swap.edits));
                self.api.patch(&swap.name, &self.manager.patch(), &patch).await.map(Some)
            }
        };
        let result = match result {
            Err(error) if is_lost(&error) => self.api.get_opt(&swap.name).await,
            other => other,
        };
        match result {
            Ok(Some(block)) => Swapped::Block(block.into()),
            Ok(None) => Swapped::Gone,
            Err(error) => {
                tracing::warn!(block = &*swap.name, %error, "swap will be tried again");
                tokio::time::sleep(PAUSE).await;
                Swapped::Failed
            }
        }
    }

    async fn create(&self, swap: &Swap) -> kube::Result<AddressBlock> {
        let claims = swap.edits.iter();
        let spec = AddressBlockSpec {
            segment: swap.segment.to_string(),
            block: block_prefix(swap.base),
            claims: claims.filter_map(|(address, c)| Some((*address, c.clone()?))).collect(),
        };
        self.api.create(&self.manager.post(), &AddressBlock::new(&swap.name, spec)).await
    }
}
