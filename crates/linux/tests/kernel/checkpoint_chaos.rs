//! Whatever was done to a network, a checkpoint brings it back.

use landbridge_linux::link::{Bridge, Macvlan, MacvlanMode, Master};
use landbridge_linux::route::Family;
use landbridge_linux::{
    Address, Handle, Link, LinkChange, LinkKind, MacAddr, NewLink, Route, Rule,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::checkpoint::Site;
use crate::harness::name;

/// Something done to a network; numbers choose among what is there.
#[derive(Clone, Debug)]
enum Deed {
    DeleteLink(usize),
    NewBridge(u8),
    NewPair(u8),
    NewMacvlan(u8, usize),
    Mtu(usize, u32),
    Mac(usize, u8),
    Switch(usize, bool),
    Master(usize, Option<usize>),
    Rename(usize, u8),
    Alias(usize, u8),
    Stp(usize, bool),
    DeleteAddress(usize),
    AddAddress(usize, u8),
    Flush(usize),
    DeleteRoute(usize),
    AddRoute(usize, u8),
    DeleteRule(usize),
    AddRule(u8),
}

fn deed() -> impl Strategy<Value = Deed> {
    let link = || 0..20_usize;
    prop_oneof![
        2 => link().prop_map(Deed::DeleteLink),
        1 => (0..4_u8).prop_map(Deed::NewBridge),
        1 => (0..4_u8).prop_map(Deed::NewPair),
        1 => (0..4_u8, link()).prop_map(|(number, link)| Deed::NewMacvlan(number, link)),
        2 => (link(), 1280..1600_u32).prop_map(|(link, mtu)| Deed::Mtu(link, mtu)),
        2 => (link(), 1..9_u8).prop_map(|(link, last)| Deed::Mac(link, last)),
        3 => (link(), any::<bool>()).prop_map(|(link, up)| Deed::Switch(link, up)),
        2 => (link(), proptest::option::of(link())).prop_map(|(link, master)| Deed::Master(link, master)),
        2 => (link(), 0..4_u8).prop_map(|(link, number)| Deed::Rename(link, number)),
        1 => (link(), 0..4_u8).prop_map(|(link, number)| Deed::Alias(link, number)),
        1 => (link(), any::<bool>()).prop_map(|(link, on)| Deed::Stp(link, on)),
        3 => link().prop_map(Deed::DeleteAddress),
        3 => (link(), 1..9_u8).prop_map(|(link, number)| Deed::AddAddress(link, number)),
        1 => link().prop_map(Deed::Flush),
        3 => link().prop_map(Deed::DeleteRoute),
        3 => (link(), 1..9_u8).prop_map(|(link, number)| Deed::AddRoute(link, number)),
        2 => (0..10_usize).prop_map(Deed::DeleteRule),
        2 => (1..9_u8).prop_map(Deed::AddRule),
    ]
}

fn pick<T: Clone>(from: &[T], number: usize) -> Option<T> {
    from.get(number % from.len().max(1)).cloned()
}

/// Does it, if it can be done; the kernel may refuse, as it would refuse a person.
fn perform(net: &Handle, deed: &Deed) -> Option<()> {
    let links = net.links().unwrap();
    let link = |number| pick(&links, number);
    // eth0 cannot be made again: its other end is elsewhere.
    let is_far = |link: &Link| link.peer.is_some_and(|peer| peer.namespace.is_some());
    let change = |link: &Link, change: LinkChange| net.change_link(link, &change).ok();
    match *deed {
        Deed::DeleteLink(number) => {
            let link = link(number)?;
            if !is_far(&link) && link.kind != LinkKind::Loopback {
                net.delete_link(&link).ok()?;
            }
        }
        Deed::NewBridge(number) => {
            let kind = LinkKind::Bridge(Bridge::default());
            net.create_link(&NewLink::new(name(&format!("new{number}")), kind).up()).ok()?;
        }
        Deed::NewPair(number) => {
            let one = NewLink::new(name(&format!("one{number}")), LinkKind::Veth).up();
            let two = NewLink::new(name(&format!("two{number}")), LinkKind::Veth).up();
            net.create_veth(&one, &two, None).ok()?;
        }
        Deed::NewMacvlan(number, parent) => {
            let kind = LinkKind::Macvlan(Macvlan { mode: MacvlanMode::Private });
            let new = NewLink::new(name(&format!("mv{number}")), kind).on(link(parent)?.index);
            net.create_link(&new).ok()?;
        }
        Deed::Mtu(number, mtu) => net.set_mtu(&link(number)?, mtu).ok()?,
        Deed::Mac(number, last) => {
            net.set_mac(&link(number)?, MacAddr([2, 1, 1, 1, 1, last])).ok()?;
        }
        Deed::Switch(number, up) => {
            change(&link(number)?, LinkChange { up: Some(up), ..LinkChange::default() })?;
        }
        Deed::Master(number, master) => {
            let master = match master {
                None => Master::None,
                Some(number) => {
                    let bridges: Vec<Link> = links
                        .iter()
                        .filter(|link| matches!(link.kind, LinkKind::Bridge(_)))
                        .cloned()
                        .collect();
                    Master::Link(pick(&bridges, number)?.index)
                }
            };
            change(&link(number)?, LinkChange { master: Some(master), ..LinkChange::default() })?;
        }
        Deed::Rename(number, to) => {
            let taken = ["ren0", "ren1", "c", "br0"];
            let link = link(number)?;
            if link.kind != LinkKind::Loopback {
                net.rename(&link, &name(taken[usize::from(to)])).ok()?;
            }
        }
        Deed::Alias(number, text) => {
            let alias = if text == 0 { String::new() } else { format!("alias {text}") };
            change(&link(number)?, LinkChange { alias: Some(alias), ..LinkChange::default() })?;
        }
        Deed::Stp(number, on) => {
            let kind = LinkKind::Bridge(Bridge { stp: Some(on), ..Bridge::default() });
            let link = link(number)?;
            if matches!(link.kind, LinkKind::Bridge(_)) {
                net.change_options(&link, &kind).ok()?;
            }
        }
        Deed::DeleteAddress(number) => {
            net.delete_address(&pick(&net.addresses().unwrap(), number)?).ok()?;
        }
        Deed::AddAddress(number, last) => {
            let nets = ["192.0.2", "198.51.100", "10.77.0"];
            let prefix = nets[usize::from(last) % 3];
            let text = if last > 6 {
                format!("2001:db8:7::{last}/64")
            } else {
                format!("{prefix}.{last}/24")
            };
            let address = Address::new(link(number)?.index, text.parse().unwrap());
            net.add_address(&address.without_dad()).ok()?;
        }
        Deed::Flush(number) => drop(net.flush_addresses(link(number)?.index).ok()?),
        Deed::DeleteRoute(number) => {
            net.delete_route(&pick(&net.routes().unwrap(), number)?).ok()?;
        }
        Deed::AddRoute(number, last) => {
            let to = format!("10.{last}.0.0/16").parse().unwrap();
            net.replace_route(&Route::dev(to, link(number)?.index)).ok()?;
        }
        Deed::DeleteRule(number) => {
            net.delete_rule(&pick(&net.rules().unwrap(), number)?).ok()?;
        }
        Deed::AddRule(number) => {
            let family = if number % 2 == 0 { Family::Ipv4 } else { Family::Ipv6 };
            net.add_rule(&Rule::new(family, u32::from(number) + 70, 77)).ok()?;
        }
    }
    Some(())
}

#[test]
fn any_deeds_are_undone() {
    if Site::new().is_none() {
        return;
    }
    let cases = std::env::var("LANDBRIDGE_CHAOS_CASES").map_or(16, |text| text.parse().unwrap());
    let config =
        Config { cases, max_shrink_iters: 60, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let outcome = runner.run(&proptest::collection::vec(deed(), 1..25), |deeds| {
        let site = Site::new().unwrap();
        let before = site.node.net.checkpoint().unwrap();
        for deed in &deeds {
            perform(&site.node.net, deed);
        }
        site.restored(&before);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
