//! How many nodes may be changed at once.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// What a policy without `maxUnavailable` says, and one that cannot be read.
const DEFAULT_PERCENT: u64 = 50;

/// How many of so many nodes. Percentages are rounded up, and one node is always allowed.
pub fn limit(max_unavailable: Option<&IntOrString>, nodes: usize) -> usize {
    let share = |percent: u64| {
        let nodes = u64::try_from(nodes).unwrap_or(u64::MAX);
        usize::try_from(nodes.saturating_mul(percent).div_ceil(100)).unwrap_or(usize::MAX)
    };
    let wanted = match max_unavailable {
        Some(IntOrString::Int(number)) => usize::try_from(*number).unwrap_or(0),
        Some(IntOrString::String(text)) => {
            // "42" without a sign is no percentage, and upstream takes it for none.
            let percent = text.strip_suffix('%').and_then(|digits| digits.parse().ok());
            share(percent.unwrap_or(DEFAULT_PERCENT))
        }
        None => share(DEFAULT_PERCENT),
    };
    wanted.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_percentages() {
        let text = |text: &str| Some(IntOrString::String(text.to_owned()));
        let cases = [
            (None, 3, 2),
            (None, 1, 1),
            (None, 0, 1),
            (text("50%"), 3, 2),
            (text("50%"), 1, 1),
            (text("0%"), 3, 1),
            (text("100%"), 7, 7),
            (text("10%"), 11, 2),
            (text("42"), 3, 2),
            (text("many"), 4, 2),
            (text("-5%"), 4, 2),
            (Some(IntOrString::Int(2)), 7, 2),
            (Some(IntOrString::Int(0)), 7, 1),
            (Some(IntOrString::Int(-3)), 7, 1),
            (Some(IntOrString::Int(9)), 3, 9),
        ];
        for (given, nodes, expected) in cases {
            assert_eq!(limit(given.as_ref(), nodes), expected, "{given:?} of {nodes}");
        }
    }
}
