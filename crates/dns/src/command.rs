//! `landbridge dns` as words, a value and a process: what it is called with, and how it runs until a
//! signal ends it.

use std::io;
use std::net::SocketAddr;

use ipnet::IpNet;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

use crate::follow::{Files, Options};
use crate::server::{Config, Dropped, Error, Ready};
use crate::warning::Warning;

/// Files a server may have open: each connection is one, and each question to another server.
const FILES: u64 = 8192;

/// What was typed.
#[derive(Debug, Clone)]
pub enum Command {
    Serve(Config),
    /// `--test`: say what is wrong with the options, and do nothing.
    Test(Config),
}

/// Reads the words behind `landbridge dns`: dnsmasq's options, and four of ours.
pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Command, String> {
    let mut options = Options::parse(words)?;
    let mut config = Config::default();
    if let Some(value) = last(&mut options, "workers")? {
        config.workers = number(&value, "workers", 256)?;
    }
    if let Some(value) = last(&mut options, "rate-limit")? {
        config.rate_limit = number(&value, "rate-limit", 100_000_000)?;
    }
    if let Some(value) = last(&mut options, "metrics")? {
        let address: Result<SocketAddr, _> = value.parse();
        let wrong =
            |_| format!("--metrics={value}: give an address and a port, such as 127.0.0.1:9153");
        config.metrics = Some(address.map_err(wrong)?);
    }
    for value in options.take("recursion-for") {
        let value =
            value.ok_or("--recursion-for needs networks, such as 192.0.2.0/24,2001:db8::/64")?;
        for net in value.split(',').filter(|net| !net.is_empty()) {
            let wrong =
                |_| format!("--recursion-for={net}: that is no network, such as 192.0.2.0/24");
            config.recursion.push(net.parse::<IpNet>().map_err(wrong)?.trunc());
        }
    }
    let test = !options.take("test").is_empty();
    config.options = options;
    Ok(if test { Command::Test(config) } else { Command::Serve(config) })
}

fn last(options: &mut Options, key: &str) -> Result<Option<String>, String> {
    match options.take(key).pop() {
        Some(Some(value)) => Ok(Some(value)),
        Some(None) => Err(format!("--{key} needs a value")),
        None => Ok(None),
    }
}

fn number<T: TryFrom<u32>>(value: &str, key: &str, most: u32) -> Result<T, String> {
    let parsed = value.parse::<u32>().ok().filter(|number| *number <= most);
    let number = parsed.and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| format!("--{key}={value}: give a number up to {most}"))
}

/// `--test`: what is wrong with the options and the files of configuration. Hosts files are data, not
/// configuration: a wrong entry in one is no reason not to start.
pub fn test(config: &Config) -> Vec<Warning> {
    let (files, _) = Files::open(config.options.clone());
    files.settings_warnings().cloned().collect()
}

/// Serves until SIGTERM or SIGINT. SIGHUP reads the files again, SIGUSR1 logs the metrics.
pub fn serve(config: Config) -> Result<(), Error> {
    let (ready, warnings) = Ready::new(config)?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    let pid_file = ready.settings().pid_file.clone().filter(|path| !path.is_empty());
    if let Some(path) = &pid_file
        && let Err(error) = std::fs::write(path, format!("{}\n", std::process::id()))
    {
        tracing::warn!(%path, %error, "the process id cannot be written");
    }
    raise_file_limit();
    match ready.drop_privileges()? {
        Dropped::Nothing => {}
        Dropped::User => tracing::info!("root's rights are given up"),
        Dropped::Capabilities => {
            tracing::info!(
                "root's rights are given up, but for the name: no other user is known here"
            );
        }
    }
    let addresses: Vec<String> = ready.addresses().iter().map(ToString::to_string).collect();
    let server = ready.start()?;
    tracing::info!(addresses = addresses.join(" "), pages = ?server.pages(), "serving");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let stopped = runtime.and_then(|runtime| {
        runtime.block_on(async {
            let mut terminate = signal(SignalKind::terminate())?;
            let mut interrupt = signal(SignalKind::interrupt())?;
            let mut hang_up = signal(SignalKind::hangup())?;
            let mut user = signal(SignalKind::user_defined1())?;
            loop {
                tokio::select! {
                    _ = terminate.recv() => return Ok("SIGTERM"),
                    _ = interrupt.recv() => return Ok("SIGINT"),
                    _ = hang_up.recv() => server.reload(),
                    _ = user.recv() => tracing::info!("\n{}", server.report()),
                }
            }
        })
    });
    let signal: &str = stopped.map_err(|error: io::Error| Error::Threads(error))?;
    tracing::info!(signal, "stopping");
    server.stop();
    if let Some(path) = pid_file {
        // Whoever may not remove it any more leaves it, as dnsmasq does.
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

fn raise_file_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(FILES, |maximum| maximum.min(FILES));
    if current.is_some_and(|current| current < wanted) {
        // What there is has to do then.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace())
    }

    #[test]
    fn ours_are_read_and_the_rest_is_left_to_dnsmasq() {
        let line = "--workers 2 --rate-limit=0 --metrics=127.0.0.1:9153 --port=5353 \
                    --recursion-for=192.0.2.7/24,2001:db8::/64 --no-hosts";
        let Ok(Command::Serve(config)) = read(line) else { panic!() };
        assert_eq!((config.workers, config.rate_limit), (2, 0));
        assert_eq!(config.metrics, Some("127.0.0.1:9153".parse().unwrap()));
        let nets: Vec<String> = config.recursion.iter().map(ToString::to_string).collect();
        assert_eq!(nets, ["192.0.2.0/24", "2001:db8::/64"]);
        let keys: Vec<&str> = config.options.given.iter().map(|given| given.key.as_str()).collect();
        assert_eq!(keys, ["port", "no-hosts"]);
        assert!(matches!(read("--test --port=53"), Ok(Command::Test(_))));
    }

    #[test]
    fn what_is_wrong_with_ours_is_said() {
        for (line, says) in [
            ("--workers=many", "--workers=many"),
            ("--workers", "--workers needs a value"),
            ("--metrics=9153", "127.0.0.1:9153"),
            ("--recursion-for=here", "--recursion-for=here"),
            ("--recursion-for", "needs networks"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(says), "{error:?} for {line}");
        }
    }
}
