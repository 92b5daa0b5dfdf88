//! Address translation of a router: floating addresses one to one, and one address for all others
//! where that is wanted. Without both there is no rule, and nothing is translated.

use std::fmt::Write as _;

use super::TABLE;
use crate::names::interface;
use crate::plan::Router;

/// What comes from inside to a floating address goes back there by way of the router.
const HAIRPIN: &str = "0x1";

/// The rules of a router's namespace, in the place of what was there.
pub fn router(router: &Router) -> String {
    let mut text = format!("table ip {TABLE}\ndelete table ip {TABLE}\n");
    let outside = router.interfaces.iter().find(|interface| interface.outside);
    let Some(outside) = outside else { return text };
    if router.floating.is_empty() && router.snat.is_none() {
        return text;
    }
    let link = interface(&outside.port, true);
    let _ = writeln!(text, "table ip {TABLE} {{");
    text.push_str(
        "  chain arriving {\n    type nat hook prerouting priority -100; policy accept;\n",
    );
    for floating in &router.floating {
        let (out, into) = (floating.outside, floating.inside);
        let _ = writeln!(
            text,
            "    iifname != \"{link}\" ip daddr {out} meta mark set {HAIRPIN} dnat to {into}"
        );
        let _ = writeln!(text, "    ip daddr {out} dnat to {into}");
    }
    text.push_str(
        "  }\n  chain leaving {\n    type nat hook postrouting priority 100; policy accept;\n",
    );
    for floating in &router.floating {
        let (out, into) = (floating.outside, floating.inside);
        let _ = writeln!(text, "    oifname \"{link}\" ip saddr {into} snat to {out}");
    }
    let _ = writeln!(text, "    oifname != \"{link}\" meta mark {HAIRPIN} masquerade");
    if let Some(address) = router.snat {
        // A connection that began outside has its addresses already.
        let _ = writeln!(text, "    oifname \"{link}\" snat to {address}");
    }
    text.push_str("  }\n}\n");
    text
}
