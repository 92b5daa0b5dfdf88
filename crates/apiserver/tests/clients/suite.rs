//! All cases, by topic.

mod access;
mod apply;
mod bodies;
mod cel;
mod concurrency;
mod crd_schema;
mod crd_versions;
mod crds;
mod custom;
mod deletion;
mod discovery;
mod dry_run;
mod field_validation;
mod forms;
mod gc;
mod kinds;
mod life;
mod lists;
mod metadata;
mod namespaces;
mod openapi;
mod paging;
mod patches;
mod pods;
mod refusals;
mod runtime;
mod scale;
mod services;
mod watches;

use futures::future::LocalBoxFuture;

use crate::ctx::Ctx;

/// One expectation.
pub struct Case {
    pub name: &'static str,
    /// Whether something beside the API server has to act: garbage collector, namespace controller.
    pub needs_controllers: bool,
    pub run: for<'a> fn(&'a Ctx) -> LocalBoxFuture<'a, anyhow::Result<()>>,
}

/// A table of cases: `cases![a, b; controllers: c]` from functions of the module.
macro_rules! cases {
    ($($case:ident),* $(,)? $(; controllers: $($other:ident),+ $(,)?)?) => {
        pub const CASES: &[crate::suite::Case] = &[
            $(crate::suite::Case {
                name: concat!(module_path!(), "::", stringify!($case)),
                needs_controllers: false,
                run: |ctx| Box::pin($case(ctx)),
            },)*
            $($(crate::suite::Case {
                name: concat!(module_path!(), "::", stringify!($other)),
                needs_controllers: true,
                run: |ctx| Box::pin($other(ctx)),
            },)+)?
        ];
    };
}
use cases;

const ALL: &[&[Case]] = &[
    discovery::CASES,
    openapi::CASES,
    life::CASES,
    metadata::CASES,
    patches::CASES,
    apply::CASES,
    scale::CASES,
    refusals::CASES,
    bodies::CASES,
    field_validation::CASES,
    dry_run::CASES,
    deletion::CASES,
    pods::CASES,
    lists::CASES,
    paging::CASES,
    watches::CASES,
    forms::CASES,
    runtime::CASES,
    crds::CASES,
    crd_schema::CASES,
    cel::CASES,
    crd_versions::CASES,
    custom::CASES,
    kinds::CASES,
    services::CASES,
    namespaces::CASES,
    gc::CASES,
    concurrency::CASES,
    access::CASES,
];

/// Every case.
pub fn all() -> impl Iterator<Item = &'static Case> {
    ALL.iter().copied().flatten()
}
