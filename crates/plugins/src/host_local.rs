//! host-local: addresses out of ranges, recorded in files of the node.
//!
//! The files are those of the reference plugin, so that either can take back what the other gave:
//!
//! ```text
//!   DATADIR/NETWORK/10.0.0.5            container id, CR LF, interface
//!   DATADIR/NETWORK/last_reserved_ip.0  the address given last out of range set 0
//!   DATADIR/NETWORK/lock                held (flock) by whoever reads or writes the others
//! ```

mod choose;
mod resolver;
mod seen;
mod store;

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;
use landbridge_cni::CniResult;
use landbridge_cni::plugins::{HostLocal, LocalRange};
use landbridge_cni::result::Ip;

use self::choose::Choice;
use self::store::{Holder, Store};
use crate::call::{Call, Ipam};
use crate::failure::{Outcome, internal, refused};

pub(crate) struct HostLocalIpam;

impl Ipam for HostLocalIpam {
    fn add(&self, call: &Call) -> Outcome<CniResult> {
        let config = read(call)?;
        let dns = resolver::read(&config.resolv_conf)?;
        let mut asked = asked(call)?;
        let store = Store::open(&config.data_dir, &call.input.name)?;
        let holder = Holder::of(call);
        let mut result = CniResult { routes: config.routes.clone(), dns, ..CniResult::default() };
        let mut given = Vec::new();
        let outcome = (|| -> Outcome<()> {
            for (place, set) in config.sets.iter().enumerate() {
                let wish = asked.iter().copied().find(|ip| choose::range_of(set, *ip).is_some());
                if let Some(wish) = wish {
                    asked.remove(&wish);
                }
                let ip = give(&store, &holder, set, place, wish).map_err(|error| {
                    internal(format!("failed to allocate for range {place}: {error}"))
                })?;
                given.push(ip.address.addr());
                result.ips.push(ip);
            }
            if asked.is_empty() {
                return Ok(());
            }
            let left: Vec<String> = asked.iter().map(ToString::to_string).collect();
            Err(internal(format!("failed to allocate all requested IPs: {}", left.join(" "))))
        })();
        if let Err(error) = outcome {
            for ip in given {
                store.remove(ip);
            }
            return Err(error);
        }
        Ok(result)
    }

    fn del(&self, call: &Call) -> Outcome<()> {
        let config = read(call)?;
        match Store::open_existing(&config.data_dir, &call.input.name)? {
            Some(store) => store.release(&Holder::of(call)),
            None => Ok(()),
        }
    }

    fn check(&self, call: &Call) -> Outcome<()> {
        let config = read(call)?;
        let store = Store::open_existing(&config.data_dir, &call.input.name)?;
        let holder = Holder::of(call);
        let held = match &store {
            Some(store) => store.held_by(&holder)?,
            None => Vec::new(),
        };
        if held.is_empty() {
            return Err(internal(format!(
                "host-local: Failed to find address added by container {}",
                holder.container
            )));
        }
        Ok(())
    }

    fn gc(&self, call: &Call) -> Outcome<()> {
        let config = read(call)?;
        let valid = call.input.valid_attachments.clone().unwrap_or_default();
        let valid =
            valid.into_iter().map(|a| Holder { container: a.container_id, ifname: a.ifname });
        match Store::open_existing(&config.data_dir, &call.input.name)? {
            Some(store) => store.keep_only(&valid.collect()),
            None => Ok(()),
        }
    }
}

fn read(call: &Call) -> Outcome<HostLocal> {
    call.environment.args.only(&["IP"]).map_err(|error| refused(&error))?;
    HostLocal::read(&call.input).map_err(|error| refused(&error))
}

/// The addresses asked for, by arguments, `args.cni` and the runtime alike.
fn asked(call: &Call) -> Outcome<BTreeSet<IpAddr>> {
    let of_args = call.environment.args.get("IP").unwrap_or_default().split(',');
    let of_config = call.input.cni_args.get("ips").and_then(|ips| ips.as_array());
    let of_config = of_config.into_iter().flatten().filter_map(|ip| ip.as_str());
    let of_runtime = call.input.runtime.ips.iter().map(String::as_str);
    let all = of_args.chain(of_config).chain(of_runtime).map(str::trim);
    let parse = |text: &str| {
        let net = text.parse::<IpNet>().map(|net| net.addr());
        net.or_else(|_| text.parse::<IpAddr>())
            .map_err(|_| internal(format!("invalid IP address {text:?} requested")))
    };
    all.filter(|text| !text.is_empty()).map(parse).collect()
}

/// Gives one address out of a set.
fn give(
    store: &Store,
    holder: &Holder,
    set: &[LocalRange],
    place: usize,
    wish: Option<IpAddr>,
) -> Outcome<Ip> {
    let choose = || -> Outcome<Choice> {
        let choice = if let Some(wish) = wish {
            store.with(|records| choose::exactly(set, |ip| records.contains_key(ip), wish))?
        } else {
            let held = store.held_by(holder)?;
            if let Some(double) = held.iter().find(|ip| choose::range_of(set, **ip).is_some()) {
                return Err(internal(format!(
                    "{double} has been allocated to {}, duplicate allocation is not allowed",
                    holder.container
                )));
            }
            let last = store.last(place);
            store.with(|records| choose::next(set, |ip| records.contains_key(ip), last))?
        };
        choice.map_err(internal)
    };
    let give = || -> Outcome<Option<Ip>> {
        let Choice { address, gateway } = choose()?;
        let is_ours = store.reserve(holder, address.addr(), place)?;
        Ok(is_ours.then_some(Ip { address, gateway: Some(gateway), interface: None }))
    };
    // What was seen of the records may be old; what fails for that is tried with all of them read.
    if let Ok(Some(ip)) = give() {
        return Ok(ip);
    }
    store.look_again()?;
    give()?.ok_or_else(|| internal("records of addresses appear although they are locked"))
}
