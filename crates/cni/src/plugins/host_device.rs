//! host-device: an interface of the host that moves into the container.

use serde::Deserialize;

use super::{BadPlugin, keys, mac};
use crate::config::Input;

/// How the device is found. Where several ways are given, the first of these counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Device {
    /// By name.
    Name(String),
    /// By hardware address.
    HardwareAddress(String),
    /// By where the kernel shows it.
    KernelPath(String),
    /// By its place on the PCI bus.
    Pci(String),
}

/// The configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostDevice {
    /// Which device.
    pub device: Device,
    /// Its place on the PCI bus, which also tells whether a user space driver has it.
    pub pci: Option<String>,
    /// Which plugin gives addresses; empty for none.
    pub ipam: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Keys {
    device: String,
    hwaddr: String,
    kernelpath: String,
    #[serde(rename = "pciBusID")]
    pci: String,
}

impl HostDevice {
    /// Reads the configuration. The device the runtime names goes before the configuration's.
    pub fn read(input: &Input) -> Result<Self, BadPlugin> {
        let Keys { device, hwaddr, kernelpath, pci } = keys("host-device", input)?;
        let pci = match input.runtime.device_id.as_str() {
            "" => pci,
            told => told.to_owned(),
        };
        let found = if !device.is_empty() {
            Device::Name(device)
        } else if let Some(address) = mac(&[Some(&hwaddr)])? {
            Device::HardwareAddress(address)
        } else if !kernelpath.is_empty() {
            if !kernelpath.starts_with("/sys/devices/") {
                return Err(BadPlugin::KernelPath(kernelpath));
            }
            Device::KernelPath(kernelpath)
        } else if !pci.is_empty() {
            Device::Pci(pci.clone())
        } else {
            return Err(BadPlugin::NoDevice);
        };
        let pci = (!pci.is_empty()).then_some(pci);
        Ok(Self { device: found, pci, ipam: input.ipam_kind()? })
    }
}
