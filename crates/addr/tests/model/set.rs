use std::collections::BTreeSet;
use std::net::IpAddr;

use landbridge_addr::RangeSet;
use landbridge_addr::net::Range;
use landbridge_addr::number::successor;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::universe::{everything, families, members, one, range};

type Model = BTreeSet<IpAddr>;

#[derive(Clone, Copy, Debug)]
enum Change {
    Insert(Range),
    Remove(Range),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![range().prop_map(Change::Insert), range().prop_map(Change::Remove)]
}

fn both(changes: &[Change]) -> (RangeSet, Model) {
    let mut set = RangeSet::new();
    let mut model = Model::new();
    for change in changes {
        match *change {
            Change::Insert(range) => {
                set.insert(range);
                model.extend(members(range));
            }
            Change::Remove(range) => {
                set.remove(range);
                model.retain(|address| !range.contains(*address));
            }
        }
    }
    (set, model)
}

/// The runs of addresses in a sorted list.
fn runs<'a>(addresses: impl IntoIterator<Item = &'a IpAddr>) -> Vec<Range> {
    let mut runs: Vec<Range> = Vec::new();
    for address in addresses {
        match runs.last_mut() {
            Some(run) if successor(run.last()) == Some(*address) => {
                *run = Range::new(run.first(), *address).unwrap();
            }
            _ => runs.push((*address).into()),
        }
    }
    runs
}

proptest! {
    #[test]
    fn a_set_holds_what_was_put_in(changes in vec(change(), 0..40), within in range()) {
        let (set, model) = both(&changes);
        prop_assert_eq!(set.ranges().collect::<Vec<_>>(), runs(&model));
        prop_assert_eq!(set.len(), model.len() as u128);
        prop_assert_eq!(set.is_empty(), model.is_empty());
        prop_assert_eq!(&set, &model.iter().copied().collect::<RangeSet>(), "one form only");
        for address in everything() {
            prop_assert_eq!(set.contains(address), model.contains(&address), "{}", address);
            let run = runs(&model).into_iter().find(|run| run.contains(address));
            prop_assert_eq!(set.covering(address), run, "{}", address);
            let next = model.range(address..).next().copied();
            let next = next.filter(|next| next.is_ipv4() == address.is_ipv4());
            prop_assert_eq!(set.first_at_or_after(address), next, "{}", address);
        }
        let (held, missing): (Vec<_>, Vec<_>) =
            members(within).partition(|address| model.contains(address));
        prop_assert_eq!(set.within(within).collect::<Vec<_>>(), runs(&held));
        prop_assert_eq!(set.gaps(within).collect::<Vec<_>>(), runs(&missing));
    }

    #[test]
    fn sets_combine_like_sets(a in vec(change(), 0..20), b in vec(change(), 0..20)) {
        let ((a, in_a), (b, in_b)) = (both(&a), both(&b));
        let of = |model: Model| model.into_iter().collect::<RangeSet>();
        prop_assert_eq!(a.union(&b), of(&in_a | &in_b));
        prop_assert_eq!(a.intersection(&b), of(&in_a & &in_b));
        prop_assert_eq!(a.difference(&b), of(&in_a - &in_b));
    }

    #[test]
    fn gaps_are_all_that_is_missing(changes in vec(change(), 0..40), address in one()) {
        let (set, _) = both(&changes);
        let gaps: RangeSet = families().into_iter().flat_map(|all| set.gaps(all)).collect();
        prop_assert!(gaps.contains(address) != set.contains(address));
        prop_assert!(gaps.intersection(&set).is_empty());
        prop_assert_eq!(gaps.union(&set), families().into_iter().collect());
        prop_assert_eq!(RangeSet::from_iter(families()).difference(&gaps), set);
    }
}
