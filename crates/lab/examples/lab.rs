//! A lab without Landbridge in it, to look at and to test with.
//!
//! ```text
//! lab up DIRECTORY SHAPE            a lab whose agents only sleep, until it is interrupted
//! lab lab DIRECTORY SHAPE           what `up` starts
//! lab exec DIRECTORY NODE COMMAND…  a command on a node (pods: NODE:/run/netns/NAME, switches: -)
//! lab reboot DIRECTORY NODE | link DIRECTORY NODE NIC up|down | status DIRECTORY
//! ```
//!
//! Commands for the nodes: `agent`, `vlan SOCKET BASE ID NAME [MTU]`, `answer ADDRESS`, `ping ADDRESS
//! [SIZE]`, `netns NAME`, `segment SOCKET SEGMENT NAME MTU`.

use std::error::Error;
use std::ffi::OsString;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use landbridge_lab::enter::{self, Entered};
use landbridge_lab::exec::{Target, exec};
use landbridge_lab::info::LabInfo;
use landbridge_lab::spec::builtin;
use landbridge_lab::supervise::{self, Template};
use landbridge_lab::wires::{self, LabWires};
use landbridge_lab::{exec as exec_module, start};
use landbridge_linux::link::VlanProtocol;
use landbridge_linux::{Handle, IfName, Namespace};
use landbridge_nodestate::wires::{SegmentLink, VlanLink, Wires as _};

type Outcome<T = ExitCode> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("lab: {error}");
            match error.downcast_ref::<exec_module::ExecError>() {
                Some(error) => error.exit_code(),
                None => ExitCode::FAILURE,
            }
        }
    }
}

fn run(arguments: &[&str]) -> Outcome {
    match arguments {
        ["up", directory, shape] => up(Path::new(directory), shape),
        ["lab", directory, shape] => lab(Path::new(directory), shape, true),
        ["lab-without-lifeline", directory, shape] => lab(Path::new(directory), shape, false),
        ["exec", directory, target, command @ ..] => {
            let lab = LabInfo::read(Path::new(directory))?;
            let command: Vec<OsString> = command.iter().map(OsString::from).collect();
            Ok(exec(&lab, &parse_target(target), &command)?)
        }
        ["reboot", directory, node] => done(wires::reboot(Path::new(directory), node)),
        ["link", directory, node, nic, state] => {
            done(wires::link(Path::new(directory), node, nic, *state == "up"))
        }
        ["status", directory] => {
            let info = wires::status(Path::new(directory))?;
            println!("{}", serde_json::to_string_pretty(&info)?);
            Ok(ExitCode::SUCCESS)
        }
        ["agent"] => loop {
            std::thread::park();
        },
        ["vlan", socket, base, id, name, mtu @ ..] => {
            let vlan = VlanLink {
                name: IfName::new(name)?,
                base: IfName::new(base)?,
                id: id.parse()?,
                protocol: VlanProtocol::Customer,
                mtu: mtu.first().map(|mtu| mtu.parse()).transpose()?,
            };
            done(LabWires { socket: PathBuf::from(socket) }.make_vlan(&Handle::open()?, &vlan))
        }
        ["segment", socket, segment, name, mtu] => {
            let segment = SegmentLink {
                name: IfName::new(name)?,
                segment: (*segment).to_owned(),
                mtu: mtu.parse()?,
                alias: "a wire".to_owned(),
            };
            done(
                LabWires { socket: PathBuf::from(socket) }.make_segment(&Handle::open()?, &segment),
            )
        }
        ["answer", address] => answer(address.parse()?),
        ["ping", address] => ping(address.parse()?, 32),
        ["ping", address, size] => ping(address.parse()?, size.parse()?),
        ["netns", name] => {
            landbridge_linux::namespace::named::create(Path::new("/run/netns"), name)?;
            Ok(ExitCode::SUCCESS)
        }
        ["inode"] => {
            println!("{}", Namespace::current()?.identity()?.inode());
            Ok(ExitCode::SUCCESS)
        }
        _ => Err("see the head of examples/lab.rs".into()),
    }
}

fn done<E: Error + 'static>(outcome: Result<(), E>) -> Outcome {
    outcome?;
    Ok(ExitCode::SUCCESS)
}

fn parse_target(target: &str) -> Target {
    match target.split_once(':') {
        Some((node, path)) => Target::Pod {
            node: node.to_owned(),
            network: Some(PathBuf::from(path)),
            files: Vec::new(),
        },
        None if target == "-" => Target::Switches,
        None => Target::Node(target.to_owned()),
    }
}

fn up(directory: &Path, shape: &str) -> Outcome {
    let begin = std::time::Instant::now();
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["lab".as_ref(), directory.as_os_str(), shape.as_ref()]);
    let mut started = start::start(command, directory)?;
    let info = started.wait_ready(Duration::from_secs(30))?;
    println!("ready {} ms {}", begin.elapsed().as_millis(), info.supervisor.pid);
    while started.ended()?.is_none() {
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(ExitCode::SUCCESS)
}

fn lab(directory: &Path, shape: &str, lifeline: bool) -> Outcome {
    let settings = enter::Settings { keep: vec![directory.to_owned()], lifeline };
    let inside = match enter::enter(&settings)? {
        Entered::Outside(code) => return Ok(code),
        Entered::Inside(inside) => inside,
    };
    let agent = Template {
        program: std::env::current_exe()?,
        arguments: vec!["agent".to_owned()],
        environment: vec![("NODE".to_owned(), "{node}".to_owned())],
    };
    let settings = supervise::Settings {
        directory: directory.to_owned(),
        kubernetes: agent.clone(),
        host: agent,
        services: None,
        grace: Duration::from_secs(3),
    };
    Ok(supervise::run(&inside, builtin::find(shape)?, settings)?)
}

/// Sends back what comes in.
fn answer(address: SocketAddr) -> Outcome {
    let socket = UdpSocket::bind(address)?;
    println!("listening");
    let mut packet = vec![0; 65_536];
    loop {
        let (size, from) = socket.recv_from(&mut packet)?;
        socket.send_to(packet.get(..size).unwrap_or_default(), from)?;
    }
}

/// Fails where nothing comes back. Packets are not split: they pass whole or not at all.
fn ping(address: SocketAddr, size: usize) -> Outcome {
    let any: SocketAddr =
        if address.is_ipv4() { "0.0.0.0:0".parse()? } else { "[::]:0".parse()? };
    let socket = UdpSocket::bind(any)?;
    socket.set_read_timeout(Some(Duration::from_millis(300)))?;
    if address.is_ipv4() {
        rustix::net::sockopt::set_ip_mtu_discover(
            &socket,
            rustix::net::sockopt::Ipv4PathMtuDiscovery::DO,
        )?;
    } else {
        rustix::net::sockopt::set_ipv6_mtu_discover(
            &socket,
            rustix::net::sockopt::Ipv6PathMtuDiscovery::DO,
        )?;
    }
    let sent = vec![7; size];
    for _ in 0..3 {
        socket.send_to(&sent, address)?;
        let mut got = vec![0; 65_536];
        if let Ok((received, _)) = socket.recv_from(&mut got)
            && received == size
        {
            return Ok(ExitCode::SUCCESS);
        }
    }
    Err(format!("no answer from {address}").into())
}
