use serde_json::{Value, json};

use super::*;

/// What the check says of the value: what is kept, or the words of the refusal.
fn says(check: Check, value: &Value) -> String {
    match check.run(value) {
        Ok(kept) => kept.to_string(),
        Err(Wrong::Reason(reason)) => reason,
        Err(Wrong::Fault(fault)) => format!("{}: {}", fault.kind, fault.message),
    }
}

#[test]
fn every_check_says_what_neutron_says() {
    #[allow(clippy::enum_glob_use)] // a table of them
    use Check::*;
    let uuid = "31343e00-8e1d-4ca0-9097-758e19e542b7";
    let cases: Vec<(Check, Value, String)> = vec![
        (Text(3), json!("abc"), "\"abc\"".into()),
        (Text(3), json!("abcd"), "'abcd' exceeds maximum length of 3".into()),
        (Text(3), json!(1), "'1' is not a valid string".into()),
        (TextOrNull(3), json!(null), "null".into()),
        (NotEmpty(9), json!("  "), "'  ' Blank strings are not permitted".into()),
        (Flag, json!("Yes"), "true".into()),
        (
            Flag,
            json!("maybe"),
            "InvalidInput: Invalid input for operation: 'maybe' cannot be converted to boolean."
                .into(),
        ),
        (Number(68, 9000), json!("1500"), "1500".into()),
        (Number(68, 9000), json!(1), "'1' is too small - must be at least '68'".into()),
        (Number(0, 2), json!(3), "'3' is too large - must be no larger than '2'".into()),
        (Number(0, 2), json!([]), "'[]' is not an integer".into()),
        (NonNegative, json!(-1), "'-1' should be non-negative".into()),
        (OneOfNumbers(&[4, 6]), json!("4"), "4".into()),
        (OneOfNumbers(&[4, 6]), json!(5), "5 is not in valid_values".into()),
        (OneOf(&["a"]), json!("b"), "b is not in valid_values".into()),
        (OneOfOrNull(&["a"]), json!(null), "null".into()),
        (Uuid, json!(uuid), format!("\"{uuid}\"")),
        (Uuid, json!("x"), "'x' is not a valid UUID".into()),
        (Uuids, json!("x"), "'x' is not a list".into()),
        (Uuids, json!([uuid, uuid]), format!("Duplicate items in the list: '{uuid}'")),
        (Ip, json!("10.0.0.300"), "'10.0.0.300' is not a valid IP address".into()),
        (
            Ip,
            json!("10.0.0.01"),
            "'10.0.0.01' is not an accepted IP address, '10.0.0.1' is recommended".into(),
        ),
        (Ip, json!("FD00:0::1"), "\"fd00::1\"".into()),
        (Cidr, json!("10.0.0.5/24"), "\"10.0.0.5/24\"".into()),
        (Cidr, json!("10.0.0.0/255.255.0.0"), "\"10.0.0.0/16\"".into()),
        (
            Cidr,
            json!("10.0.0.0/33"),
            "InvalidInput: Invalid input for operation: 10.0.0.0/33 is not in a CIDR format."
                .into(),
        ),
        (Cidrs, json!(["10.0.0.0"]), "'10.0.0.0' is not a valid IP subnet".into()),
        (Mac, json!("FA-16-3E-0-0-1"), "\"fa:16:3e:00:00:01\"".into()),
        (Mac, json!("fa:16"), "'fa:16' is not a valid MAC address".into()),
        (Mac, json!("00:00:00:00:00:00"), "'00:00:00:00:00:00' is not a valid MAC address".into()),
        (
            Pools,
            json!([{"start": "10.0.0.2"}]),
            "Validation of dictionary's keys failed. Expected keys: {'start', 'end'} Provided \
             keys: {'start'}"
                .into(),
        ),
        (
            Pools,
            json!([{"start": "FD00::2", "end": "fd00::9"}]),
            r#"[{"end":"fd00::9","start":"fd00::2"}]"#.into(),
        ),
        (Pools, json!(null), "[]".into()),
        (
            FixedIps,
            json!([{"ip_address": "10.0.0.5"}, {"ip_address": "10.0.0.5"}]),
            "Duplicate IP address '10.0.0.5'".into(),
        ),
        (FixedIps, json!({"a": 1}), "Invalid data format for fixed IP: '{'a': 1}'".into()),
        (Nameservers, json!(["x"]), {
            "'x' is not a valid nameserver. 'x' is not a valid IP address".into()
        }),
        (Nameservers, json!(["8.8.8.8", "8.8.8.8"]), "Duplicate nameserver '8.8.8.8'".into()),
        (
            HostRoutes,
            json!([{"destination": "10.0.0.1/24", "nexthop": "10.0.0.1"}]),
            "'10.0.0.1/24' is not a valid CIDR".into(),
        ),
        (
            HostRoutes,
            json!([{"destination": "127.0.0.0/8", "nexthop": "10.0.0.1"}]),
            "'127.0.0.0/8' is not a routable CIDR".into(),
        ),
        (MapOrNull, json!([]), "'[]' is not a dictionary".into()),
    ];
    for (check, value, expected) in cases {
        assert_eq!(says(check, &value), expected, "{check:?} of {value}");
    }
}
