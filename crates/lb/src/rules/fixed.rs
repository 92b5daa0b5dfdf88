//! What is the same however many Services there are.

use std::fmt::Write as _;

/// The table of all our rules.
pub const TABLE: &str = "inet landbridge_services";
/// A script that fails where our table is not.
pub const PROBE: &str = "list chain inet landbridge_services services\n";
/// The mark of packets that leave with the node's address.
pub const MASQUERADE: u32 = 0x4c43_0000;
/// The upper half of the mark of connections that came by a link; the lower half is its number.
pub const LINK_MARK: u32 = 0x4c42_0000;

/// Sets and maps that the fixed chains ask.
pub(super) const SETS: &[(&str, &str)] = &[
    ("service4", "map { type ipv4_addr . inet_proto . inet_service : verdict; }"),
    ("service6", "map { type ipv6_addr . inet_proto . inet_service : verdict; }"),
    ("node4", "map { type inet_proto . inet_service : verdict; }"),
    ("node6", "map { type inet_proto . inet_service : verdict; }"),
    ("refused4", "set { type ipv4_addr . inet_proto . inet_service; }"),
    ("refused6", "set { type ipv6_addr . inet_proto . inet_service; }"),
    ("inner4", "set { type ipv4_addr; }"),
    ("inner6", "set { type ipv6_addr; }"),
    ("outer4", "set { type ipv4_addr; }"),
    ("outer6", "set { type ipv6_addr; }"),
    ("links", "map { type ifname : mark; }"),
];

/// The declaration of a set or map, for a script.
pub(super) fn declare(name: &str, declaration: &str) -> String {
    let (kind, body) = declaration.split_once(' ').unwrap_or(("set", declaration));
    format!("add {kind} {TABLE} {name} {body}\n")
}

/// The chains with hooks, and what they share. `pods` is the link that this node's pods are behind.
pub(super) fn chains(pods: &str) -> String {
    let mut script = String::new();
    let mut chain = |name: &str, hook: &str, rules: &[&str]| {
        let hook = if hook.is_empty() {
            String::new()
        } else {
            format!(" {{ type {hook}; policy accept; }}")
        };
        let _ = writeln!(script, "add chain {TABLE} {name}{hook}");
        for rule in rules {
            let _ = writeln!(script, "add rule {TABLE} {name} {rule}");
        }
    };
    chain(
        "refuse",
        "",
        &["meta l4proto tcp reject with tcp reset", "reject with icmpx type port-unreachable"],
    );
    chain(
        "services",
        "",
        &[
            "ip daddr . meta l4proto . th dport vmap @service4",
            "ip6 daddr . meta l4proto . th dport vmap @service6",
            "fib daddr type local ip daddr != 127.0.0.0/8 meta l4proto . th dport vmap @node4",
            "fib daddr type local ip6 daddr != ::1 meta l4proto . th dport vmap @node6",
        ],
    );
    // Answers go back by the link the question came by: the mark chooses the routing table. A packet
    // with a wrong checksum or outside of its window is of no connection and gets none.
    let restore =
        format!("ct direction reply ct mark & 0xffff0000 == {LINK_MARK:#x} meta mark set ct mark");
    chain(
        "marks",
        "filter hook prerouting priority -150",
        &[
            &restore,
            "ct state new ip daddr @outer4 ct mark set iifname map @links",
            "ct state new ip6 daddr @outer6 ct mark set iifname map @links",
        ],
    );
    // Sockets of this node answer by the mark of the question (net.ipv4.tcp_fwmark_accept).
    let own = format!(
        "fib daddr type local ct mark & 0xffff0000 == {LINK_MARK:#x} meta mark set ct mark"
    );
    chain("translate", "nat hook prerouting priority -100", &["jump services"]);
    chain("translate_own", "nat hook output priority -100", &["jump services"]);
    let guard = [
        "ip daddr . meta l4proto . th dport @refused4 jump refuse",
        "ip6 daddr . meta l4proto . th dport @refused6 jump refuse",
        "ip daddr @inner4 jump refuse",
        "ip6 daddr @inner6 jump refuse",
        "ip daddr @outer4 fib daddr type != local drop",
        "ip6 daddr @outer6 fib daddr type != local drop",
    ];
    let all: Vec<&str> = guard.iter().copied().chain([own.as_str()]).collect();
    chain("guard", "filter hook prerouting priority -90", &all);
    chain("guard_own", "filter hook output priority -90", &guard[..4]);
    let masquerade = format!("meta mark {MASQUERADE:#x} meta mark set 0 masquerade");
    // Pods of one node answer each other directly, past this node: only with the node's address in
    // between does the answer come back through the translation.
    let neighbours = format!("iifname \"{pods}\" oifname \"{pods}\" ct status dnat masquerade");
    chain("leave", "nat hook postrouting priority 100", &[&masquerade, &neighbours]);
    script
}
