//! Options of a bond.

use netlink_packet_route::link::{
    BondLacpRate as WireRate, BondMode as WireMode, BondXmitHashPolicy as WirePolicy, InfoBond,
};
use serde::{Deserialize, Serialize};

use super::options::options;

/// Options of a bond. Times are milliseconds, as in the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Bond {
    pub mode: Option<BondMode>,
    pub miimon_ms: Option<u32>,
    pub up_delay_ms: Option<u32>,
    pub down_delay_ms: Option<u32>,
    pub min_links: Option<u32>,
    pub hash_policy: Option<HashPolicy>,
    /// Only with 802.3ad.
    pub lacp_rate: Option<LacpRate>,
}

options!(Bond { mode, miimon_ms, up_delay_ms, down_delay_ms, min_links, hash_policy, lacp_rate });

/// How a bond uses its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BondMode {
    BalanceRr,
    ActiveBackup,
    BalanceXor,
    Broadcast,
    #[serde(rename = "802.3ad")]
    Lacp,
    BalanceTlb,
    BalanceAlb,
}

/// What chooses the port of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HashPolicy {
    #[serde(rename = "layer2")]
    Layer2,
    #[serde(rename = "layer3+4")]
    Layer34,
    #[serde(rename = "layer2+3")]
    Layer23,
    #[serde(rename = "encap2+3")]
    Encap23,
    #[serde(rename = "encap3+4")]
    Encap34,
    #[serde(rename = "vlan+srcmac")]
    VlanSrcMac,
}

/// How often the partner is asked to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LacpRate {
    Slow,
    Fast,
}

const MODES: [(BondMode, WireMode); 7] = [
    (BondMode::BalanceRr, WireMode::BalanceRr),
    (BondMode::ActiveBackup, WireMode::ActiveBackup),
    (BondMode::BalanceXor, WireMode::BalanceXor),
    (BondMode::Broadcast, WireMode::Broadcast),
    (BondMode::Lacp, WireMode::Ieee8023Ad),
    (BondMode::BalanceTlb, WireMode::BalanceTlb),
    (BondMode::BalanceAlb, WireMode::BalanceAlb),
];

const POLICIES: [(HashPolicy, WirePolicy); 6] = [
    (HashPolicy::Layer2, WirePolicy::Layer2),
    (HashPolicy::Layer34, WirePolicy::Layer34),
    (HashPolicy::Layer23, WirePolicy::Layer23),
    (HashPolicy::Encap23, WirePolicy::Encap23),
    (HashPolicy::Encap34, WirePolicy::Encap34),
    (HashPolicy::VlanSrcMac, WirePolicy::VlanSrcMac),
];

const RATES: [(LacpRate, WireRate); 2] =
    [(LacpRate::Slow, WireRate::Slow), (LacpRate::Fast, WireRate::Fast)];

fn to_wire<A: PartialEq + Copy, B: Copy>(table: &[(A, B)], ours: Option<A>) -> Option<B> {
    table.iter().find(|(a, _)| Some(*a) == ours).map(|(_, b)| *b)
}

fn from_wire<A: Copy, B: PartialEq>(table: &[(A, B)], wire: &B) -> Option<A> {
    table.iter().find(|(_, b)| b == wire).map(|(a, _)| *a)
}

impl Bond {
    /// The mode first: what else is allowed depends on it.
    pub(super) fn encode(&self) -> Vec<InfoBond> {
        [
            to_wire(&MODES, self.mode).map(InfoBond::Mode),
            self.miimon_ms.map(InfoBond::MiiMon),
            self.up_delay_ms.map(InfoBond::UpDelay),
            self.down_delay_ms.map(InfoBond::DownDelay),
            self.min_links.map(InfoBond::MinLinks),
            to_wire(&POLICIES, self.hash_policy).map(InfoBond::XmitHashPolicy),
            // In other modes the kernel shows a rate but refuses one.
            to_wire(&RATES, self.lacp_rate)
                .filter(|_| self.mode.is_none_or(|mode| mode == BondMode::Lacp))
                .map(InfoBond::AdLacpRate),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    pub(super) fn decode(data: &[InfoBond]) -> Self {
        let mut bond = Self::default();
        for attribute in data {
            match attribute {
                InfoBond::Mode(mode) => bond.mode = from_wire(&MODES, mode),
                InfoBond::MiiMon(time) => bond.miimon_ms = Some(*time),
                InfoBond::UpDelay(time) => bond.up_delay_ms = Some(*time),
                InfoBond::DownDelay(time) => bond.down_delay_ms = Some(*time),
                InfoBond::MinLinks(links) => bond.min_links = Some(*links),
                InfoBond::XmitHashPolicy(policy) => bond.hash_policy = from_wire(&POLICIES, policy),
                InfoBond::AdLacpRate(rate) => bond.lacp_rate = from_wire(&RATES, rate),
                _ => {}
            }
        }
        if bond.mode != Some(BondMode::Lacp) {
            bond.lacp_rate = None;
        }
        bond
    }
}
