//! static: the addresses that stand in the configuration, or that the pod asks for.

use landbridge_cni::CniResult;
use landbridge_cni::plugins::StaticIpam;

use crate::call::{Call, Ipam};
use crate::failure::{Outcome, internal, refused};
use crate::verify;

pub(crate) struct Static;

fn read(call: &Call) -> Outcome<StaticIpam> {
    let args = &call.environment.args;
    args.only(&["IP", "GATEWAY"]).map_err(|error| refused(&error))?;
    StaticIpam::read(&call.input, args).map_err(|error| refused(&error))
}

impl Ipam for Static {
    fn add(&self, call: &Call) -> Outcome<CniResult> {
        read(call).map(|config| config.result())
    }

    fn del(&self, _call: &Call) -> Outcome<()> {
        Ok(())
    }

    fn check(&self, call: &Call) -> Outcome<()> {
        let result = verify::previous(call)?;
        for wanted in &read(call)?.addresses {
            if !result.ips.iter().any(|ip| ip.address == wanted.address) {
                return Err(internal(format!(
                    "static: Failed to match addr {} on interface {}",
                    wanted.address, call.environment.interface
                )));
            }
        }
        Ok(())
    }
}
