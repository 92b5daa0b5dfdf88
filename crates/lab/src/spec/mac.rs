//! MACs that stay the same from one start to the next.

use landbridge_linux::MacAddr;

/// The MAC of a NIC that was given none: from the names of node and NIC, locally administered.
pub(crate) fn derived(node: &str, nic: &str) -> MacAddr {
    // FNV-1a: no secret to keep, only the same answer on every machine and with every compiler.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in node.bytes().chain([0]).chain(nic.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    // Six octets of it, the first of which is not the hash's to say.
    let [_, _, _local, rest @ ..] = hash.to_be_bytes();
    let mut octets = [0x02; 6];
    octets[1..].copy_from_slice(&rest);
    MacAddr(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_same_for_ever_and_of_one_nic() {
        let worker = derived("worker-0", "enp1s0");
        assert_eq!(worker.to_string(), "02:b2:7d:f8:aa:c9", "a MAC someone may have written down");
        assert_ne!(worker, derived("worker-0", "enp6s0"));
        assert_ne!(worker, derived("worker-1", "enp1s0"));
        assert_ne!(derived("ab", "c"), derived("a", "bc"));
        assert_eq!(worker.0[0] & 3, 2, "local, and no group");
    }
}
