//! Dates, times and durations.

use jiff::civil;

use super::all_digits;

/// `2006-01-02`, a day that exists.
pub(super) fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    if year.len() != 4 || month.len() != 2 || day.len() != 2 {
        return false;
    }
    if ![year, month, day].into_iter().all(all_digits) {
        return false;
    }
    match (year.parse(), month.parse(), day.parse()) {
        (Ok(year), Ok(month), Ok(day)) => civil::Date::new(year, month, day).is_ok(),
        _ => false,
    }
}

/// RFC 3339, as far as strfmt looks: the zone is not checked for sense.
pub(super) fn is_date_time(text: &str) -> bool {
    let Some((date, rest)) = text.split_once(['T', 't']) else { return false };
    let Some((clock, rest)) = rest.split_at_checked(8) else { return false };
    is_date(date) && is_clock(clock, &["23", "59", "59"]) && is_fraction_and_zone(rest)
}

/// Two-digit groups, each at most what `limits` says.
fn is_clock(text: &str, limits: &[&str]) -> bool {
    let groups: Vec<&str> = text.split(':').collect();
    groups.len() == limits.len()
        && groups.iter().zip(limits).all(|(g, limit)| g.len() == 2 && all_digits(g) && g <= limit)
}

fn is_fraction_and_zone(text: &str) -> bool {
    let zone = match text.strip_prefix('.') {
        None => text,
        Some(rest) => {
            let zone = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            if zone.len() == rest.len() {
                return false;
            }
            zone
        }
    };
    match zone.strip_prefix(['+', '-']) {
        None => matches!(zone, "Z" | "z"),
        Some(offset) => is_clock(offset, &["99", "99"]),
    }
}

/// What Go's `time.ParseDuration` takes: `1h30m`, `-1.5s`, `0`.
pub(super) fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let unit = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let amount = &rest[..rest.len() - unit.len()];
        if amount.matches('.').count() > 1 || !amount.bytes().any(|b| b.is_ascii_digit()) {
            return false;
        }
        let end = unit.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(unit.len());
        let units = ["ns", "us", "\u{b5}s", "\u{3bc}s", "ms", "s", "m", "h"];
        if !units.contains(&&unit[..end]) {
            return false;
        }
        rest = &unit[end..];
    }
    true
}

/// What strfmt takes beyond Go: `3 days`, `2 weeks 1 hour`. One known unit is enough for it.
pub(super) fn is_worded_duration(text: &str) -> bool {
    const UNITS: [&[&str]; 8] = [
        &["ns", "nano"],
        &["us", "\u{b5}s", "micro"],
        &["ms", "milli"],
        &["s", "sec"],
        &["m", "min"],
        &["h", "hr", "hour"],
        &["d", "day"],
        &["w", "wk", "week"],
    ];
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '\u{b5}';
    let mut rest = text.trim();
    let mut known = false;
    while !rest.is_empty() {
        let unit = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if unit.len() == rest.len() {
            return false;
        }
        let unit = unit.trim_start();
        let after = unit.trim_start_matches(is_letter);
        let unit = unit[..unit.len() - after.len()].to_lowercase();
        if unit.is_empty() {
            return false;
        }
        // The last spelling of each unit stands for all longer ones: `day`, `days`.
        known |= UNITS.iter().any(|names| {
            names.contains(&unit.as_str()) || names.last().is_some_and(|n| unit.starts_with(n))
        });
        rest = after.trim_start();
    }
    known
}
