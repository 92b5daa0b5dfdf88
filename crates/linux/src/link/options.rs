//! Options of a kind, one by one.

/// For a struct of optional fields: `missing` keeps of a wish what is not so here.
macro_rules! options {
    ($type:ident { $($field:ident),* $(,)? } $(times { $($time:ident),* $(,)? })?) => {
        impl $type {
            /// What of the wish is not so here, or nothing.
            pub(super) fn missing(&self, wanted: &Self) -> Option<Self> {
                let mut rest = wanted.clone();
                let mut any = false;
                $(
                    if rest.$field == self.$field {
                        rest.$field = None;
                    }
                    any |= rest.$field.is_some();
                )*
                $($(
                    if $crate::link::options::same_time(rest.$time, self.$time) {
                        rest.$time = None;
                    }
                    any |= rest.$time.is_some();
                )*)?
                any.then_some(rest)
            }
        }
    };
}
pub(super) use options;

/// Whether two times in hundredths of a second are one: the kernel rounds down to its own clock,
/// which ticks no slower than that.
pub(super) fn same_time(wanted: Option<u32>, found: Option<u32>) -> bool {
    match (wanted, found) {
        (Some(wanted), Some(found)) => wanted.abs_diff(found) <= 1,
        _ => wanted == found,
    }
}
