//! What waits at one pool, and the one change that serves it all. Pure: no clock, no cluster.
//!
//! The asks are served in the order they came. What one is given the next does not get, so a batch
//! gives the same addresses as the asks one after the other would.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use landbridge_addr::net::Range;
use landbridge_cni::error::{CniError, Coded};
use landbridge_cni::whereabouts::{
    Allocation, Change, Claim, Ledger, NoAddress, Reservation, Usable,
};

use crate::claims::Share;

/// How many holders are named when a pool is exhausted.
const HOLDERS_MAX: usize = 20;

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    /// The container.
    pub container_id: String,
    /// The pod, `namespace/name`, or what stands for it when the address is to stay.
    pub podref: String,
    /// The interface.
    pub ifname: String,
}

impl Holder {
    /// As the ledger wants it.
    pub fn claim(&self) -> Claim<'_> {
        Claim { container_id: &self.container_id, podref: &self.podref, ifname: &self.ifname }
    }

    /// As a reservation wants it.
    pub fn reservation(&self) -> Reservation {
        Reservation {
            containerid: self.container_id.clone(),
            podref: self.podref.clone(),
            ifname: self.ifname.clone(),
        }
    }
}

/// What is wanted of a pool.
#[derive(Clone, Debug)]
pub enum Ask {
    /// An address.
    Take {
        /// For whom.
        holder: Holder,
        /// Out of which.
        usable: Usable,
        /// This one and no other.
        wanted: Option<IpAddr>,
        /// Under which name of the network it has to be reserved, too; `None` where ranges do not
        /// look at each other.
        reserve_for: Option<String>,
        /// What others reserved through another range, and who.
        reserved: BTreeMap<IpAddr, String>,
        /// What has to be claimed in the ledger; `None` where no NetConfig has such addresses.
        share: Option<Arc<Share>>,
    },
    /// The address of that container's interface is not used any more.
    Release(Holder),
    /// This record is of nobody. It goes only if it still says the same.
    Forget(IpAddr, Allocation),
}

/// What came of an ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The address, with the length of its prefix.
    Given(IpNet),
    /// What was freed; `None` when there was nothing.
    Freed(Option<IpAddr>),
    /// Nothing can be given.
    Failed(CniError),
}

/// Who holds addresses beside the pool.
pub trait Others {
    /// Who holds an address, if not the one who asks.
    fn holder(&self, share: &Share, address: IpAddr) -> Option<String>;
    /// All who hold addresses between bounds.
    fn within(&self, share: &Share, bounds: Range) -> BTreeMap<IpAddr, String>;
}

/// Serves the asks on the ledger. The ledger then stands as the pool will once the changes are
/// made; if they are not made it has to follow the pool again.
pub fn serve<'a>(
    ledger: &mut Ledger,
    asks: impl IntoIterator<Item = &'a Ask>,
    others: &dyn Others,
) -> (Vec<Change>, Vec<Answer>) {
    let mut changes = Vec::new();
    let answers = asks.into_iter().map(|ask| one(ledger, ask, others, &mut changes)).collect();
    (changes, answers)
}

fn one(ledger: &mut Ledger, ask: &Ask, others: &dyn Others, changes: &mut Vec<Change>) -> Answer {
    match ask {
        Ask::Release(holder) => {
            let freed = ledger.release(&holder.claim());
            Answer::Freed(freed.map(|(address, change)| {
                changes.push(change);
                address
            }))
        }
        Ask::Forget(address, record) => {
            let same = ledger.holder(*address) == Some(record);
            let freed = if same { ledger.free_address(*address) } else { None };
            Answer::Freed(freed.map(|change| {
                changes.push(change);
                *address
            }))
        }
        Ask::Take { holder, usable, wanted, reserved, share, .. } => {
            let taken = |ip: IpAddr| {
                let reserved = reserved.get(&ip).cloned();
                reserved.or_else(|| others.holder(share.as_ref()?, ip))
            };
            // A record of ours whose address was given to somebody else meanwhile is worth nothing.
            for address in ledger.held_by(&holder.podref, &holder.ifname) {
                if taken(address).is_some() {
                    changes.extend(ledger.free_address(address));
                }
            }
            let given = match *wanted {
                Some(wanted) => match taken(wanted) {
                    Some(holder) => Err(NoAddress::Held { wanted, holder }),
                    None => ledger.take(usable, &holder.claim(), wanted),
                },
                None => ledger.assign(usable, &holder.claim(), taken),
            };
            match given {
                Ok(given) => {
                    changes.extend(given.change);
                    Answer::Given(given.address)
                }
                Err(error) => Answer::Failed(CniError {
                    msg: format!("error at storage engine: {error}"),
                    details: holders(ledger, usable, share.as_deref(), others),
                    ..error.report("")
                }),
            }
        }
    }
}

/// Who holds the addresses that could have been given, for the person who has to find one.
fn holders(ledger: &Ledger, usable: &Usable, share: Option<&Share>, others: &dyn Others) -> String {
    let bounds = usable.bounds();
    let mut held = share.map(|share| others.within(share, bounds)).unwrap_or_default();
    let of_pool = ledger.iter().filter(|(address, _)| bounds.contains(*address));
    held.extend(of_pool.map(|(address, r)| (address, format!("{} {}", r.podref, r.ifname))));
    let named: Vec<String> =
        held.iter().take(HOLDERS_MAX).map(|(address, who)| format!("{address} {who}")).collect();
    let more = held.len().saturating_sub(HOLDERS_MAX);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("{} addresses of {bounds} are held: {}{more}", held.len(), named.join(", "))
}

#[cfg(test)]
mod tests {
    use landbridge_cni::whereabouts::{PoolSpec, RangeSettings};

    use super::*;

    fn usable(range: &str) -> Usable {
        let range = range.parse().unwrap();
        Usable::of(&RangeSettings { range, start: None, end: None, exclude: vec![] }).unwrap()
    }

    fn ledger(range: &str) -> Ledger {
        Ledger::read(&PoolSpec { range: range.into(), ..PoolSpec::default() }).unwrap()
    }

    fn holder(pod: &str) -> Holder {
        Holder {
            container_id: format!("c-{pod}"),
            podref: format!("n/{pod}"),
            ifname: "net1".into(),
        }
    }

    fn take(pod: &str, range: &str, reserved: &[(&str, &str)]) -> Ask {
        let reserved = reserved.iter().map(|(ip, who)| (ip.parse().unwrap(), (*who).to_owned()));
        Ask::Take {
            holder: holder(pod),
            usable: usable(range),
            wanted: None,
            reserve_for: None,
            reserved: reserved.collect(),
            share: None,
        }
    }

    /// Nobody but the pool.
    struct Nobody;

    impl Others for Nobody {
        fn holder(&self, _: &Share, _: IpAddr) -> Option<String> {
            None
        }
        fn within(&self, _: &Share, _: Range) -> BTreeMap<IpAddr, String> {
            BTreeMap::new()
        }
    }

    fn serve(ledger: &mut Ledger, asks: &[Ask]) -> (Vec<Change>, Vec<Answer>) {
        super::serve(ledger, asks, &Nobody)
    }

    #[test]
    fn a_batch_gives_what_one_after_the_other_would() {
        let mut ledger = ledger("10.0.0.0/29");
        let asks = [
            take("a", "10.0.0.0/29", &[]),
            take("b", "10.0.0.0/29", &[("10.0.0.2", "n/x")]),
            Ask::Release(holder("a")),
            take("c", "10.0.0.0/29", &[]),
            take("b", "10.0.0.0/29", &[]),
        ];
        let (changes, answers) = serve(&mut ledger, &asks);
        let ip = |text: &str| Answer::Given(text.parse().unwrap());
        let freed = Answer::Freed(Some("10.0.0.1".parse().unwrap()));
        let expected =
            [ip("10.0.0.1/29"), ip("10.0.0.3/29"), freed, ip("10.0.0.1/29"), ip("10.0.0.3/29")];
        assert_eq!(answers, expected);
        assert_eq!(changes.len(), 4);
    }

    #[test]
    fn a_record_whose_address_another_reserved_is_given_up() {
        let mut ledger = ledger("10.0.0.0/29");
        serve(&mut ledger, &[take("a", "10.0.0.0/29", &[])]);
        let (_, answers) = serve(&mut ledger, &[take("a", "10.0.0.0/29", &[("10.0.0.1", "n/x")])]);
        assert_eq!(answers, [Answer::Given("10.0.0.2/29".parse().unwrap())]);
        assert_eq!(ledger.len(), 1);
    }

    #[test]
    fn an_exhausted_pool_names_its_holders() {
        let mut ledger = ledger("10.0.0.0/30");
        let asks = ["a", "b", "c"].map(|pod| take(pod, "10.0.0.0/30", &[]));
        let (_, answers) = serve(&mut ledger, &asks);
        let Answer::Failed(error) = &answers[2] else { panic!("{answers:?}") };
        assert_eq!(
            error.msg,
            "error at storage engine: Could not allocate IP in range: ip: 10.0.0.1 / - 10.0.0.2 / \
             range: 10.0.0.0/30 / excludeRanges: []"
        );
        assert_eq!(
            error.details,
            "2 addresses of 10.0.0.1-10.0.0.2 are held: 10.0.0.1 n/a net1, 10.0.0.2 n/b net1"
        );
        assert_eq!(error.code, landbridge_cni::error::Code::TRY_AGAIN);
    }

    #[test]
    fn the_list_of_holders_has_an_end() {
        let mut ledger = ledger("10.0.0.0/26");
        let asks: Vec<Ask> = (0..63).map(|n| take(&format!("p{n}"), "10.0.0.0/26", &[])).collect();
        let (_, answers) = serve(&mut ledger, &asks);
        let Answer::Failed(error) = &answers[62] else { panic!("{answers:?}") };
        assert!(error.details.ends_with("10.0.0.20 n/p19 net1, and 42 more"), "{}", error.details);
    }

    #[test]
    fn a_record_that_changed_is_not_forgotten() {
        let mut ledger = ledger("10.0.0.0/29");
        serve(&mut ledger, &[take("a", "10.0.0.0/29", &[])]);
        let ip = "10.0.0.1".parse().unwrap();
        let record = ledger.holder(ip).unwrap().clone();
        let other = Allocation { id: "other".into(), ..record.clone() };
        let (changes, answers) = serve(&mut ledger, &[Ask::Forget(ip, other)]);
        assert_eq!((changes.len(), answers), (0, vec![Answer::Freed(None)]));
        let (changes, answers) = serve(&mut ledger, &[Ask::Forget(ip, record)]);
        assert_eq!((changes.len(), answers), (1, vec![Answer::Freed(Some(ip))]));
    }
}
