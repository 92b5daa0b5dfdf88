//! Claims of the ledger that change faster than they are written.

use landbridge_api::ledger::{Claim, Shared, SharedBy};
use landbridge_controllers::ipam::ledger::{Ledger, Place, Swapped};
use landbridge_controllers::ipam::seen::Block;
use landbridge_controllers::mirror::{Key, Told};
use landbridge_controllers::vips::claims::{HOLDER, VIPS};

fn claim(users: &[&str]) -> Claim {
    let users =
        users.iter().map(|name| SharedBy { name: (*name).to_owned(), ..SharedBy::default() });
    let shared = Shared { users: users.collect(), ..Shared::default() };
    Claim { kind: HOLDER.to_owned(), shared: Some(shared), ..Claim::default() }
}

#[test]
fn who_comes_and_goes_before_a_swap_leaves_no_trace() {
    let place = Place { segment: VIPS.into(), address: "10.0.0.1".parse().unwrap() };
    let mut ledger = Ledger::of_kind(HOLDER);
    ledger.tell(Told::Restart);
    ledger.tell(Told::Complete);
    let (a, b) = (Key::new("", "a"), Key::new("", "b"));
    ledger.put(&place, claim(&["a"]));
    let swap = ledger.swaps().pop().unwrap();
    let block = Block {
        key: Key::new("", &swap.name),
        uid: "uid".into(),
        revision: 1,
        segment: VIPS.into(),
        base: Some(swap.base),
        claims: [(place.address, claim(&["a"]))].into(),
    };
    ledger.swapped(&swap, Swapped::Block(block.clone()));
    assert!(ledger.is_idle());
    // a leaves, b comes, b leaves; nothing of that was sent.
    ledger.put(&place, claim(&["b"]));
    let effects = ledger.withdraw(&place);
    assert_eq!(ledger.holder(&place), Some(&claim(&["a"])), "the server knows a");
    assert!(ledger.is_leaving(&place));
    assert_eq!(effects.len(), 1, "{effects:?}");
    assert_eq!(effects[0].before, Some(claim(&["b"])));
    assert_eq!(effects[0].after, Some(claim(&["a"])));
    assert_eq!((ledger.of(&a).count(), ledger.of(&b).count()), (1, 0));
    let swap = ledger.swaps().pop().unwrap();
    assert!(swap.empties);
    ledger.swapped(&swap, Swapped::Gone);
    assert_eq!(ledger.all_holders().count(), 0);
    assert!(ledger.is_idle());
}
