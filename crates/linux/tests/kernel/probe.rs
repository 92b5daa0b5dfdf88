//! What the kernel can do.

use landbridge_linux::Capabilities;
use landbridge_linux::probe::Feature;

use crate::harness::Node;

#[test]
fn what_is_missing_is_explained() {
    if Node::new().is_none() {
        return;
    }
    let found = Capabilities::probe().unwrap();
    assert!(std::ptr::eq(found, Capabilities::probe().unwrap()), "asked once");
    assert!(found.has(Feature::Veth), "{found:?}");
    assert!(found.has(Feature::Bridge), "{found:?}");
    for feature in Feature::ALL {
        if let Some(why) = found.why_not(feature) {
            assert!(why.contains("this kernel"), "{feature:?}: {why}");
        }
    }
}
