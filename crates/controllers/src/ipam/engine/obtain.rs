//! An address for one network.

use std::net::IpAddr;

use landbridge_api::ledger::Claim;
use landbridge_api::network::IPSetNetwork;

use super::Engine;
use super::supply::{SubnetId, Wait};
use crate::ipam::ledger::{HOLDER, Place};
use crate::ipam::networks::{Found, Networks};
use crate::ipam::seen::{Record, Request};
use crate::mirror::Key;

impl Engine {
    /// An address for one network: the one that is held already, the one that is asked for, or
    /// the lowest that is free. Or else, in words, why not.
    pub(super) fn obtain<'a>(
        &mut self,
        request: &Request,
        record: Option<&Record>,
        networks: &'a Networks,
        wanted: &IPSetNetwork,
    ) -> Result<(Found<'a>, IpAddr), String> {
        let found = networks
            .find(&wanted.name, &wanted.subnet_name)
            .map_err(|why| format!("network {}: {why}", wanted.name))?;
        let trouble = |why: String| {
            let (network, subnet) = (&found.network.name, &found.subnet.name);
            format!("network {network}, subnet {subnet}: {why}")
        };
        let claim = Claim {
            kind: HOLDER.to_owned(),
            namespace: request.key.namespace.to_string(),
            name: request.key.name.to_string(),
            uid: request.uid.to_string(),
            attachment: found.network.name.clone(),
            source: format!("NetConfig {}", networks.config),
            fixed: wanted.fixed_ip.is_some(),
            ..Claim::default()
        };
        let id: SubnetId = (request.key.namespace.clone(), found.index);
        if let Some(address) = self.kept(request, record, &found) {
            let place = Place { segment: found.site.segment.clone(), address };
            if let Some(other) = self.other_holder(&place, &request.key) {
                let why = format!(
                    "{address} is recorded here but held by {other}; delete one of the two"
                );
                self.supply.wait(&request.key, Wait::Address(place));
                return Err(trouble(why));
            }
            self.claim(&place, claim);
            return Ok((found, address));
        }
        let prefix = found.site.prefix.as_ref().map_err(|why| trouble(why.clone()))?;
        let address = if let Some(text) = &wanted.fixed_ip {
            let address = prefix.member(text).map_err(|why| trouble(format!("{text}: {why}")))?;
            if found.site.excluded.contains(&address) {
                return Err(trouble(format!("FixedIP {address} is in ExcludeAddresses")));
            }
            let place = Place { segment: found.site.segment.clone(), address };
            if let Some(other) = self.other_holder(&place, &request.key) {
                let left = self.supply.left(&id);
                let why = format!("{address} already reserved for {other}; {left}");
                self.supply.wait(&request.key, Wait::Address(place));
                return Err(trouble(why));
            }
            address
        } else {
            let lowest = self.supply.lowest(&id);
            let Some(address) = lowest else {
                let left = self.supply.left(&id);
                self.supply.wait(&request.key, Wait::Pool(id, request.created));
                return Err(trouble(format!(
                    "no ip address could be created for {} in subnet {}; {left}",
                    request.key.name, found.subnet.name
                )));
            };
            address
        };
        self.claim(&Place { segment: found.site.segment.clone(), address }, claim);
        Ok((found, address))
    }

    /// The address the IPSet has on this network: what its record says, or what it claimed before
    /// a record could be written.
    fn kept(
        &self,
        request: &Request,
        record: Option<&Record>,
        found: &Found<'_>,
    ) -> Option<IpAddr> {
        let recorded = record
            .and_then(|record| record.entry(&found.network.name))
            .and_then(|entry| entry.address.parse().ok());
        recorded.or_else(|| {
            let mine = self.ledger.of(&request.key).filter(|place| {
                place.segment == found.site.segment
                    && self.ledger.holder(place).is_some_and(|claim| {
                        claim.attachment.eq_ignore_ascii_case(&found.network.name)
                    })
            });
            mine.map(|place| place.address).min()
        })
    }

    /// Who holds the address, if it is somebody else.
    pub(super) fn other_holder(&self, place: &Place, me: &Key) -> Option<&Claim> {
        self.ledger.holder(place).filter(|claim| {
            claim.kind != HOLDER || *claim.namespace != *me.namespace || *claim.name != *me.name
        })
    }

    /// Claims an address that is free, or that the same holder has under another identity.
    pub(super) fn claim(&mut self, place: &Place, claim: Claim) {
        if self.ledger.put(place, claim).is_some_and(|effect| effect.before.is_none()) {
            self.supply.take(place);
        }
    }
}
