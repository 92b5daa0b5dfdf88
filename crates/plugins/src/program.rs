//! What a binary of a plugin's name prints and exits with.

use std::collections::BTreeMap;

use landbridge_cni::environment::{BadEnvironment, Command, Environment};
use landbridge_cni::{CniError, Code, Coded, Version, version};

use crate::call::{Call, Ipams};
use crate::failure::{in_version, refused};

/// What is to be printed, and how to exit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// For standard output: a result, an error object, or the versions.
    pub stdout: String,
    /// For standard error: a word about the plugin when it is started by hand.
    pub stderr: String,
    /// 0, or 1 with an error object.
    pub exit_code: u8,
}

/// The variables that a plugin looks at.
const VARIABLES: [&str; 7] = [
    "CNI_COMMAND",
    "CNI_CONTAINERID",
    "CNI_NETNS",
    "CNI_IFNAME",
    "CNI_ARGS",
    "CNI_PATH",
    "CNI_NETNS_OVERRIDE",
];

/// Answers as a program of that name would: the variables of the environment, the configuration on
/// standard input, and out comes what to print.
pub fn main_as(
    kind: &str,
    env: &dyn Fn(&str) -> Option<String>,
    stdin: &[u8],
    ipams: &dyn Ipams,
) -> Output {
    let variables: BTreeMap<String, String> =
        VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), env(name)?))).collect();
    let answer = match Environment::read(&variables) {
        Ok(None) => return about(kind),
        Ok(Some(environment)) if environment.command == Command::Version => {
            version::answer().map_err(|error| CniError::new(Code::IO_FAILURE, error.to_string()))
        }
        Ok(Some(environment)) => answer(kind, environment, stdin, ipams),
        Err(error) => Err(refuse(&error, stdin)),
    };
    match answer {
        Ok(stdout) => Output { stdout, stderr: String::new(), exit_code: 0 },
        Err(error) => Output {
            stdout: error.print().unwrap_or_else(|_| error.to_string()) + "\n",
            stderr: String::new(),
            exit_code: 1,
        },
    }
}

fn about(kind: &str) -> Output {
    let versions = Version::ALL.map(Version::as_str).join(", ");
    let stderr = format!(
        "CNI {kind} plugin of landbridge {}\nCNI protocol versions supported: {versions}\n",
        env!("CARGO_PKG_VERSION")
    );
    Output { stdout: String::new(), stderr, exit_code: 0 }
}

fn answer(
    kind: &str,
    environment: Environment,
    stdin: &[u8],
    ipams: &dyn Ipams,
) -> Result<String, CniError> {
    let call = Call::new(environment, stdin)?;
    match crate::run(kind, &call, ipams)? {
        None => Ok(String::new()),
        Some(result) => result
            .print(call.input.version)
            .map(|text| text + "\n")
            .map_err(|error| in_version(refused(&error), &call.input)),
    }
}

/// The peers' frame looks for missing variables first, then at the configuration, then at names;
/// arguments are looked at by the plugins themselves.
fn refuse(error: &BadEnvironment, stdin: &[u8]) -> CniError {
    let of_input = || {
        landbridge_cni::config::Input::parse(stdin)
            .err()
            .map(|error| crate::failure::of_input(&error))
    };
    match error {
        BadEnvironment::Missing(_) => error.report(""),
        BadEnvironment::Args(args) => of_input().unwrap_or_else(|| refused(args)),
        _ => of_input().unwrap_or_else(|| error.report("")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoIpams;

    fn call(variables: &[(&str, &str)], stdin: &str) -> Output {
        let env = |name: &str| {
            variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        };
        main_as("macvlan", &env, stdin.as_bytes(), &NoIpams)
    }

    #[test]
    fn by_hand_it_says_what_it_is() {
        let output = call(&[], "");
        assert_eq!((output.exit_code, output.stdout.as_str()), (0, ""));
        assert!(output.stderr.starts_with("CNI macvlan plugin"));
        assert!(output.stderr.contains("0.3.1, 0.4.0, 1.0.0, 1.1.0"));
    }

    #[test]
    fn versions_need_no_configuration() {
        let output = call(&[("CNI_COMMAND", "VERSION")], "");
        assert_eq!(output.exit_code, 0);
        assert!(output.stdout.starts_with(r#"{"cniVersion":"1.1.0","supportedVersions":["0.1.0""#));
    }

    #[test]
    fn errors_are_objects_with_four_blanks() {
        let output = call(&[("CNI_COMMAND", "ADD")], "{");
        let text = "{\n    \"code\": 4,\n    \"msg\": \"required env variables \
                    [CNI_CONTAINERID,CNI_NETNS,CNI_IFNAME,CNI_PATH] missing\"\n}\n";
        assert_eq!((output.exit_code, output.stdout.as_str()), (1, text));
    }
}
